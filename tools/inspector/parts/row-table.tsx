import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Row } from '../../emulator/contract.ts'
import { withoutAnswer } from '../../wire/code-word.ts'
import { escapeHidden } from '../../wire/hidden.ts'
import { follow, go, readAddress, toPageUrl } from '../model/address.ts'
import { hold, release } from '../model/list.ts'
import { outcomeOf, reasonOf } from '../model/outcome.ts'
import { OUTCOMES } from '../model/outcome-words.ts'
import { store } from '../model/store.ts'
import { Ago, Head, nameWebhook, OutcomeView, Result } from './small.tsx'

/** Heights of a row in pixels, of one line and of two, as in the style. There may be ten thousand rows, so only those around the visible ones are drawn. */
const LINE_PX = 28
const TWO_LINES_PX = 44
/** Widths below which a row has two lines, so that the reason has one of its own, or leaves the room of its last columns to the reason. */
const NARROW_PX = 900
const WIDE_PX = 1_200
const ROWS_AROUND = 15

const OF_DELIVERIES = ['Record', 'Webhook', 'Answer', 'Attempts', 'ms']
const OF_EVENTS = ['Event', 'Account', 'Last try', 'Tries']
const CLASSES = ['', 'dim', '', 'mono', 'dim', '', 'number', 'number']
const WIDTHS = ['max(140px, 14cqi)', '86px', 'max(210px, 13cqi)', '108px', '15cqi', '', '82px', '82px']

function listColumns(width: number, isEvent: boolean) {
  const all = ['Outcome', 'Time', 'Type', ...(isEvent ? OF_EVENTS : OF_DELIVERIES)].map(
    (name, index) => [name, CLASSES[index], index === 2 && width < NARROW_PX ? '' : WIDTHS[index]] as const,
  )
  if (width < NARROW_PX) return all.filter((_, index) => index === 0 || index === 2)
  return width < WIDE_PX ? all.slice(0, 6) : all
}

export function RowTable({ name, rows }: { readonly name: string; readonly rows: readonly Row[] }) {
  const scroll = useRef<HTMLDivElement>(null)
  const [{ top, size, width }, setView] = useState({ top: 0, size: 800, width: innerWidth })
  const { open } = readAddress()
  const height = heightAt(width)
  const measure = () => {
    const { scrollTop = 0, clientHeight = 0, clientWidth = 0 } = scroll.current ?? {}
    if (clientWidth === 0) return // the detail hides the list
    setView((before) => {
      const ratio = heightAt(clientWidth) / heightAt(before.width)
      // Rows that have another height were moved by the browser: the first visible one gets its place back.
      return { top: ratio === 1 ? scrollTop : before.top * ratio, size: clientHeight, width: clientWidth }
    })
  }
  useLayoutEffect(() => {
    const observer = new ResizeObserver(measure)
    if (scroll.current !== null) observer.observe(scroll.current)
    return () => observer.disconnect()
  }, [])
  useLayoutEffect(() => {
    if (scroll.current !== null) scroll.current.scrollTop = top
  }, [height])
  useLayoutEffect(() => (top > 0 ? hold() : release()), [top])
  // A list that has become shorter has not yet been scrolled to its end.
  const from = Math.min(top, Math.max(0, rows.length * height - size))
  const first = Math.max(0, Math.floor(from / height) - ROWS_AROUND)
  const last = Math.min(rows.length, Math.ceil((from + size) / height) + ROWS_AROUND)
  useWanted(scroll, rows, height, measure)
  return (
    <div ref={scroll} class="scroll" tabIndex={-1} onScroll={measure}>
      <table
        class={width < NARROW_PX ? 'rows tight narrow' : width < WIDE_PX ? 'rows tight' : 'rows'}
        aria-label={name}
        aria-rowcount={rows.length + 1}
      >
        <Head columns={listColumns(width, rows[0]?.webhook === '')} />
        <Gap height={first * height} />
        <tbody>
          {rows.slice(first, last).map((row, index) => (
            <RowLine key={row.id} index={first + index} isCurrent={row.id === open} {...{ row, width }} />
          ))}
        </tbody>
        <Gap height={(rows.length - last) * height} />
      </table>
    </div>
  )
}

function heightAt(width: number): number {
  return width < NARROW_PX ? TWO_LINES_PX : LINE_PX
}

function Gap({ height }: { readonly height: number }) {
  return (
    <tbody aria-hidden="true">
      <tr>
        <td style={{ height: `${height}px`, border: '0' }} />
      </tr>
    </tbody>
  )
}

type Scroll = { readonly current: HTMLElement | null }

/** The key of the row that has the focus: the id of a delivery, or the key of an event of the inbox. */
export function readFocused(): string | undefined {
  return (document.activeElement as HTMLElement | null)?.dataset.key // a page has HTML only
}

/** The link of a row; null if it is not drawn. */
export function findLink(key = ''): HTMLElement | null {
  return document.querySelector(`.rows [data-key="${CSS.escape(key)}"]`)
}

/** Brings a row into view: the open one, also far down, or the one to which a key moves the focus. A row that leaves the list leaves the focus to the list: no key acts on another row. */
function useWanted(scroll: Scroll, rows: readonly Row[], height: number, measure: () => void): void {
  const shown = useRef<string | undefined>(undefined)
  const focused = useRef<{ readonly key?: string | undefined; readonly at: number }>({ at: 0 })
  useLayoutEffect(() => {
    const { open } = readAddress()
    const indexOf = (key: string | undefined) => rows.findIndex(({ id }) => id === key)
    const key = store.wanted ?? (open === shown.current ? undefined : open)
    const index = indexOf(key)
    if (scroll.current !== null && index >= 0) {
      const link = findLink(key)
      if (link === null) {
        scroll.current.scrollTop = index * height - scroll.current.clientHeight / 2
        return measure() // it is drawn next
      }
      link.closest('tr')?.scrollIntoView({ block: 'nearest' })
      if (store.wanted !== undefined) link.focus({ preventScroll: true })
      shown.current = open
      store.wanted = undefined
    }
    const hasNone = document.activeElement === document.body && store.dialog === undefined
    const before = focused.current
    if (hasNone && before.key !== undefined && indexOf(before.key) < 0) {
      scroll.current?.focus({ preventScroll: true })
      store.place = before.at
    } else if (document.activeElement !== scroll.current) store.place = 0
    const now = readFocused()
    if (now !== undefined || !hasNone) focused.current = { key: now, at: indexOf(now) }
  })
}

interface LineOptions {
  readonly row: Row
  readonly index: number
  readonly isCurrent: boolean
  readonly width: number
}

function RowLine({ row, index, isCurrent, width }: LineOptions) {
  const { id, type, event, account, last, signing, resendOf, times, record, at, inbox, webhook } = row
  const isEvent = webhook === ''
  const url = store.urlOf(webhook)
  const attempts = isEvent ? inbox?.tried : resendOf === null ? `${times.length}/5` : 'copy'
  const place = isEvent ? account : nameWebhook(webhook)
  const ms = times.at(-1)
  const why = escapeHidden(explainShortly(row))
  const about = record ?? event
  const subject = escapeHidden(about.length > 12 ? `…${about.slice(-8)}` : about)
  const outcome = <OutcomeView row={row} />
  const time = <Ago at={at} isReal={isEvent} />
  const link = (
    <a href={toPageUrl({ ...readAddress(), open: id })} data-key={id}>
      {escapeHidden(type)}
    </a>
  )
  const isNarrow = width < NARROW_PX
  const columns = listColumns(width, isEvent)
  const reason = <span class="why">{why}</span>
  const answer = (
    <>
      <Result last={last} /> {signing !== 'valid' && signing} {!isNarrow && reason}
    </>
  )
  const numbers = [attempts, ...(ms === undefined ? [] : [`${ms} ms`]), place].join(' · ')
  // The link stays the same element, with the focus, when the width changes.
  const title = (
    <>
      {link}
      {isNarrow && [' ', answer, ' ', <span class="dim">{numbers}</span>]}
    </>
  )
  const cells = isNarrow ? [outcome, title] : [outcome, time, title, subject, place, answer, attempts, ms ?? '–']
  const below = [time, why === '' ? `${account} · ${subject}` : reason]
  return (
    <tr
      class="row"
      title={escapeHidden([type, event, record, account, url, why].filter(Boolean).join('\n'))}
      aria-rowindex={index + 2}
      aria-current={isCurrent || undefined}
      onClick={(click) => follow(click, () => go({ open: id }))}
    >
      {columns.map(([name, classes], at) => (
        <td key={name} class={classes}>
          {cells[at]}
          {isNarrow && <small>{below[at]}</small>}
        </td>
      ))}
    </tr>
  )
}

/** The reason, or advice, without what the answer beside it says. */
function explainShortly(row: Row): string {
  const { last, advice } = row
  const isDone = OUTCOMES[outcomeOf(row)][0] === '✓'
  return withoutAnswer(reasonOf(row)?.text ?? '', last) || (isDone ? '' : withoutAnswer(advice ?? '', last))
}
