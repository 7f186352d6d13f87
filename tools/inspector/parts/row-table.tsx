import type { JSX } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { LastResult, Row } from '../../emulator/contract.ts'
import { follow, go, readAddress, toPageUrl } from '../model/address.ts'
import { hold, release } from '../model/list.ts'
import { reasonOf } from '../model/outcome.ts'
import { store, useStore } from '../model/store.ts'
import { escapeHidden } from '../text/bytes.ts'
import { adviseOn } from '../text/explain.ts'
import { Ago, Head, OutcomeView, Result } from './small.tsx'

/** Heights of a row in pixels, of one line and of two, as in the style. There may be ten thousand rows, so only those around the visible ones are drawn. */
const LINE_PX = 28
const TWO_LINES_PX = 44
/** Width below which a row has two lines, as in the style. */
const NARROW_PX = 900
const ROWS_AROUND = 15

const WIDE = 'wide number'
const DELIVERIES = [
  ['Outcome'],
  ['Time', 'wide'],
  ['Type'],
  ['Record', 'wide'],
  ['Webhook', 'wide'],
  ['Answer'],
  ['Attempts', WIDE],
  ['ms', WIDE],
] as const
const EVENTS = [
  ['Outcome'],
  ['Time', 'wide'],
  ['Type'],
  ['Event', 'wide'],
  ['Account', 'wide'],
  ['Last try'],
  ['Tries', WIDE],
] as const

interface RowTableOptions {
  readonly name: string
  readonly rows: readonly Row[]
}

/** The list of deliveries, or of the events of an inbox, the newest first. */
export function RowTable({ name, rows }: RowTableOptions): JSX.Element {
  const scroll = useRef<HTMLDivElement>(null)
  const [{ top, size, width }, setView] = useState({ top: 0, size: 800, width: NARROW_PX })
  const open = useStore(() => readAddress().open)
  const cursor = useStore(() => store.cursor)
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
  useWanted(scroll, rows, height, open, cursor, measure)
  useKeptFocus(scroll, rows)
  return (
    <div ref={scroll} class="scroll" onScroll={measure}>
      <table class="rows" aria-label={name} aria-rowcount={rows.length + 1}>
        <Head columns={rows[0]?.webhook === '' ? EVENTS : DELIVERIES} />
        <Gap height={first * height} />
        <tbody>
          {rows.slice(first, last).map((row, index) => (
            <RowLine key={row.id} row={row} index={first + index} isCurrent={row.id === open} />
          ))}
        </tbody>
        <Gap height={(rows.length - last) * height} />
      </table>
    </div>
  )
}

/** Height of a row in a list of a width. */
function heightAt(width: number): number {
  return width < NARROW_PX ? TWO_LINES_PX : LINE_PX
}

/** The place of rows that are not drawn. */
function Gap({ height }: { readonly height: number }): JSX.Element | null {
  if (height <= 0) return null
  return (
    <tbody aria-hidden="true">
      <tr>
        <td style={{ height: `${height}px`, padding: '0' }} />
      </tr>
    </tbody>
  )
}

type Scroll = { readonly current: HTMLElement | null }

/** Brings the open row into view, also far down, and the one to which a key has moved the focus. */
function useWanted(
  scroll: Scroll,
  rows: readonly Row[],
  height: number,
  open: string | undefined,
  cursor: typeof store.cursor,
  measure: () => void,
): void {
  const done = useRef<unknown[]>([])
  useLayoutEffect(() => {
    const wanted = cursor === done.current[0] ? open : cursor?.id
    const box = scroll.current
    const at = rows.findIndex(({ id }) => id === wanted)
    if (box === null || at < 0 || (cursor === done.current[0] && open === done.current[1])) return
    const y = at * height
    const room = box.clientHeight - LINE_PX - height
    if (y < box.scrollTop || y > box.scrollTop + room) {
      const before = box.scrollTop
      const isNear = Math.abs(y - box.scrollTop) < 2 * box.clientHeight
      box.scrollTop = y < box.scrollTop ? y - (isNear ? 0 : room / 2) : y - (isNear ? room : room / 2)
      if (box.scrollTop !== before) measure()
    }
    const link = box.querySelector<HTMLElement>(`[data-key="${CSS.escape(wanted ?? '')}"]`)
    if (link === null) return // drawn next
    if (cursor !== undefined && cursor !== done.current[0]) {
      link.focus({ preventScroll: true })
      cursor.hasFocus = true
    }
    done.current = [cursor, open]
  })
}

/** Focuses the next row if the one that had the focus leaves the list, since it no longer matches the filter. */
function useKeptFocus(scroll: Scroll, rows: readonly Row[]): void {
  const place = useRef<{ readonly key: string | undefined; readonly at: number } | undefined>(undefined)
  useLayoutEffect(() => {
    const box = scroll.current
    const links = [...(box?.querySelectorAll<HTMLElement>('a[data-key]') ?? [])]
    const at = links.indexOf(document.activeElement as HTMLElement) // -1 for any other
    if (at >= 0) place.current = { key: links[at]?.dataset.key, at }
    else if (document.activeElement !== document.body || store.dialog !== undefined) place.current = undefined
    else if (place.current !== undefined && !rows.some(({ id }) => id === place.current?.key)) {
      links[Math.min(place.current.at, links.length - 1)]?.focus({ preventScroll: true })
      place.current = undefined
    }
  })
}

interface LineOptions {
  readonly row: Row
  readonly index: number
  readonly isCurrent: boolean
}

function RowLine({ row, index, isCurrent }: LineOptions): JSX.Element {
  const { id, type, event, account, last, signing, resendOf, times, record, at, inbox, webhook } = row
  const isEvent = webhook === ''
  const url = useStore(() => store.urlOf(webhook))
  const reason = reasonOf(row)
  const attempts = isEvent ? inbox?.tried : resendOf === null ? `${times.length}/5` : 'copy'
  const place = isEvent ? account : url.replace(/^https?:\/\/(localhost|127\.0\.0\.1)?/, '') || 'deleted'
  const ms = times.at(-1)
  const advice = adviseOn(row, url, store.state?.settings)
  const why = escapeHidden(withoutAnswer(reason?.text ?? '', last) || withoutAnswer(advice ?? '', last))
  const subject = escapeHidden(record ?? (event.length > 20 ? `…${event.slice(-8)}` : event))
  return (
    <tr
      class="row"
      aria-rowindex={index + 2}
      aria-current={isCurrent || undefined}
      onClick={(click) => follow(click, () => go({ open: id }))}
    >
      <td title={reason?.text}>
        <OutcomeView row={row} />
        <small>
          <Ago at={at} isReal={isEvent} />
        </small>
      </td>
      <td class="wide dim">
        <Ago at={at} isReal={isEvent} />
      </td>
      <td title={`${type}\n${event}\n${account}`}>
        <a href={toPageUrl({ ...readAddress(), open: id })} data-key={id}>
          {escapeHidden(type)}
        </a>
        <small>{why || `${account} · ${subject}`}</small>
      </td>
      <td class="wide mono" title={record === null ? event : undefined}>
        {subject}
      </td>
      <td class="wide dim" title={`${url}\n${account}`}>
        {place}
      </td>
      <td title={advice}>
        <Result last={last} /> {signing !== 'valid' && signing}
        <span class="why"> {why}</span>
        <small>
          {attempts}
          {ms !== undefined && ` · ${ms} ms`} · {place}
        </small>
      </td>
      <td class="wide number">{attempts}</td>
      {!isEvent && <td class="wide number">{ms ?? '–'}</td>}
    </tr>
  )
}

/** The part of a reason that the answer before it does not say. */
function withoutAnswer(text: string, last: LastResult | null): string {
  const [result = '', code = ''] = [last?.result, last?.code ?? '']
  if (!text.startsWith(result)) return text
  const rest = text.slice(result.length).replace(/^:? /, '')
  return rest === code ? '' : rest
}
