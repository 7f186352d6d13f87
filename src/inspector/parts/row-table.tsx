import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { follow, go, readAddress, toPageUrl } from '../model/address.ts'
import { inbox } from '../model/inbox.ts'
import { page } from '../model/page-model.ts'
import type { PlacedRow } from '../model/rows.ts'
import { ui } from '../model/ui.ts'
import { Ago, Head, In, Result, Status, stateOf, useNow } from './small.tsx'

/** Number of rows drawn above and below the visible ones. */
const MARGIN = 12
const MOST_DRAWN = 200

interface View {
  readonly top: number
  readonly height: number
  readonly rowHeight: number
}

/** The list of deliveries. It draws only the visible rows, since there may be ten thousand. */
export function RowTable({ rows }: { readonly rows: readonly PlacedRow[] }): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState<View>({ top: 0, height: 800, rowHeight: 29 })
  const measure = () => {
    const { scrollTop: top = 0, clientHeight: height = 0 } = box.current ?? {}
    const row = box.current?.querySelector('tbody tr.row')
    const rowHeight = row?.getBoundingClientRect().height || view.rowHeight
    if (top !== view.top || height !== view.height || rowHeight !== view.rowHeight) setView({ top, height, rowHeight })
  }
  useLayoutEffect(measure)
  useEffect(() => {
    const observer = new ResizeObserver(measure)
    if (box.current !== null) observer.observe(box.current)
    return () => observer.disconnect()
  }, [])
  useScrollToCursor(box, rows, view)
  const first = Math.max(0, Math.floor(view.top / view.rowHeight) - MARGIN)
  const drawn = Math.min(MOST_DRAWN, Math.ceil(view.height / view.rowHeight) + 2 * MARGIN)
  const last = Math.min(rows.length, first + drawn)
  const onScroll = () => {
    measure()
    // At the top, new rows are shown again, unless the user reads one.
    if ((box.current?.scrollTop ?? 0) > 0) ui.hold()
    else if (ui.cursor === undefined && readAddress().delivery === undefined) ui.release()
  }
  return (
    <div class="scroll" ref={box} onScroll={onScroll}>
      <div style={{ padding: `${first * view.rowHeight}px 0 ${(rows.length - last) * view.rowHeight}px` }}>
        <table class="rows sent" aria-rowcount={rows.length + 1}>
          <Head columns={COLUMNS} />
          <tbody>
            {rows.slice(first, last).map((row, index) => (
              <RowLine key={row.id} row={row} index={first + index} />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}

const COLUMNS = [
  ['Status'],
  ['Type'],
  ['Event', 'wide'],
  ['To', 'widest'],
  ['Answer'],
  ['Attempt', 'wide number'],
  ['Took', 'wide number'],
  ['When', 'number'],
] as const

/** Removes the scheme and a local host from a URL. */
function shorten(url: string): string {
  return url.replace(/^https?:\/\/(localhost|127\.0\.0\.1)?/, '')
}

function RowLine({ row, index }: { readonly row: PlacedRow; readonly index: number }): JSX.Element {
  const address = readAddress()
  const isCurrent = row.id === (address.delivery ?? ui.cursor)
  const isFirst = index === 0 && ui.cursor === undefined && address.delivery === undefined
  const open = (event: MouseEvent) =>
    follow(event, () => {
      ui.select(row.id)
      go({ delivery: row.id })
    })
  return (
    <tr
      class={row.isGone ? 'row gone' : 'row'}
      aria-rowindex={index + 2}
      aria-current={isCurrent || undefined}
      onClick={open}
    >
      <td>
        <StatusMark row={row} />
      </td>
      <td class="type">
        <a
          href={toPageUrl({ ...address, delivery: row.id })}
          tabIndex={isCurrent || isFirst ? 0 : -1}
          id={`row-${row.id}`}
        >
          {ui.pinned.has(row.id) && <span title="pinned">★ </span>}
          {row.type}
        </a>
        <span class="second mono">{row.event}</span>
      </td>
      <td class="wide mono dim">{row.event}</td>
      <td class="widest dim" title={page.urlOf(row.webhook)}>
        {shorten(page.urlOf(row.webhook)) || 'deleted'}
      </td>
      <td>
        <Result last={row.last} />
        {row.last?.code === 'accepted' && <InboxTag row={row} />}
        {row.isGone && <span class="tag">previous run</span>}
        {row.signing !== 'valid' && <span class="tag">{row.signing}</span>}
      </td>
      <td class="wide number">{row.resendOf !== null ? 'by hand' : row.attempts === 0 ? '–' : `${row.attempts}/5`}</td>
      <td class="wide number">{row.last === null ? '–' : `${row.last.ms} ms`}</td>
      <td class="number dim">
        <Ago at={row.last?.at ?? row.at} />
      </td>
    </tr>
  )
}

function StatusMark({ row }: { readonly row: PlacedRow }): JSX.Element {
  const state = stateOf(row, useNow())
  const isPlanned = (state === 'retrying' || state === 'waiting') && row.nextAt !== null
  return <Status state={state}>{isPlanned && <In at={row.nextAt} />}</Status>
}

const IN_INBOX = { waiting: '○ waiting', running: '◌ running', dead: '✕ dead letter' } as const

/** State of an accepted event that is still in the inbox. */
function InboxTag({ row }: { readonly row: PlacedRow }): JSX.Element | null {
  const state = inbox.stateOf(row.account, row.event)
  return state === undefined ? null : <span class="tag">{IN_INBOX[state]}</span>
}

/** Keeps the row of the cursor visible, and focused if the list has the focus. */
function useScrollToCursor(
  box: { readonly current: HTMLDivElement | null },
  rows: readonly PlacedRow[],
  view: View,
): void {
  const id = readAddress().delivery ?? ui.cursor
  useEffect(() => {
    const at = id === undefined ? -1 : rows.findIndex((row) => row.id === id)
    if (at < 0 || box.current === null) return
    const head = view.rowHeight
    const [top, bottom] = [at * view.rowHeight, (at + 1) * view.rowHeight + head]
    if (top < box.current.scrollTop) box.current.scrollTop = top
    else if (bottom > box.current.scrollTop + box.current.clientHeight)
      box.current.scrollTop = bottom - box.current.clientHeight
    const focused = document.activeElement
    if (focused === document.body || focused?.id.startsWith('row-'))
      document.getElementById(`row-${id}`)?.focus({ preventScroll: true })
  }, [id, rows.length > 0])
}
