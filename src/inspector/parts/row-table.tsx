import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { InboxStateName } from '../../emulator/inspector/inbox-shapes.ts'
import { follow, go, readAddress, toPageUrl } from '../model/address.ts'
import { stateInInbox } from '../model/inbox.ts'
import { hold, release, select } from '../model/list.ts'
import type { PlacedRow } from '../model/rows.ts'
import { store, useStore } from '../model/store.ts'
import { escapeHidden } from '../text/bytes.ts'
import { Ago, Head, In, memo, Result, Status, stateOf, useTime } from './small.tsx'

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
  const currentId = useStore(() => readAddress().delivery ?? store.cursor)
  const measure = () => {
    const { scrollTop: top = 0, clientHeight: height = 0 } = box.current ?? {}
    const row = box.current?.querySelector('tbody tr.row')
    const rowHeight = row?.getBoundingClientRect().height || view.rowHeight
    if (top !== view.top || height !== view.height || rowHeight !== view.rowHeight) setView({ top, height, rowHeight })
  }
  useLayoutEffect(measure, [rows.length > 0])
  useEffect(() => {
    const observer = new ResizeObserver(measure)
    if (box.current !== null) observer.observe(box.current)
    return () => observer.disconnect()
  }, [view.rowHeight])
  useScrollToCursor(box, rows, view, currentId)
  const first = Math.max(0, Math.floor(view.top / view.rowHeight) - MARGIN)
  const drawn = Math.min(MOST_DRAWN, Math.ceil(view.height / view.rowHeight) + 2 * MARGIN)
  const last = Math.min(rows.length, first + drawn)
  const onScroll = () => {
    measure()
    // At the top, new rows are shown again, unless the user reads one.
    if ((box.current?.scrollTop ?? 0) > 0) hold()
    else if (currentId === undefined) release()
  }
  return (
    <div class="scroll" ref={box} onScroll={onScroll}>
      <div style={{ padding: `${first * view.rowHeight}px 0 ${(rows.length - last) * view.rowHeight}px` }}>
        <table class="rows sent" aria-rowcount={rows.length + 1}>
          <Head columns={COLUMNS} />
          <tbody>
            {rows.slice(first, last).map((row, index) => (
              <RowLine
                key={row.id}
                row={row}
                index={first + index}
                isCurrent={row.id === currentId}
                canFocus={row.id === currentId || (first + index === 0 && currentId === undefined)}
              />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}

const COLUMNS = [
  ['Type'],
  ['Status'],
  ['Account', 'account'],
  ['Event', 'wide'],
  ['To', 'widest'],
  ['Answer'],
  ['Attempt', 'wide number'],
  ['Took', 'wide number'],
  ['When', 'when number'],
] as const

/** Removes the scheme and a local host from a URL. */
function shorten(url: string): string {
  return url.replace(/^https?:\/\/(localhost|127\.0\.0\.1)?/, '')
}

interface LineOptions {
  readonly row: PlacedRow
  readonly index: number
  readonly isCurrent: boolean
  readonly canFocus: boolean
}

/** A row. Only its place in the list is written anew when others come in above it. */
function RowLine({ row, index, isCurrent, canFocus }: LineOptions): JSX.Element {
  const open = (event: MouseEvent) =>
    follow(event, () => {
      select(row.id)
      go({ delivery: row.id })
    })
  return (
    <tr
      class={row.isGone ? 'row gone' : 'row'}
      aria-rowindex={index + 2}
      aria-current={isCurrent || undefined}
      onClick={open}
    >
      <Cells
        row={row}
        canFocus={canFocus}
        isPinned={store.pinned.has(row.id)}
        url={store.urlOf(row.webhook)}
        inInbox={row.last?.code === 'accepted' ? stateInInbox(row.account, row.event) : undefined}
      />
    </tr>
  )
}

interface CellOptions {
  readonly row: PlacedRow
  readonly canFocus: boolean
  readonly isPinned: boolean
  readonly url: string
  /** State of an accepted event that is still in the inbox. */
  readonly inInbox: InboxStateName | undefined
}

const IN_INBOX = { waiting: '○ waiting', running: '◌ running', dead: '✕ dead letter' } as const

const Cells: (options: CellOptions) => JSX.Element = memo(({ row, canFocus, isPinned, url, inInbox }: CellOptions) => (
  <>
    <td class="type">
      <a href={toPageUrl({ ...readAddress(), delivery: row.id })} tabIndex={canFocus ? 0 : -1} id={`row-${row.id}`}>
        {isPinned && <span title="pinned">★ </span>}
        {escapeHidden(row.type)}
      </a>
      <span class="second mono">
        <span class="of">{row.account} · </span>
        {escapeHidden(row.event)}
      </span>
    </td>
    <td>
      <StatusMark row={row} />
    </td>
    <td class="account dim">{row.account}</td>
    <td class="wide mono dim">{escapeHidden(row.event)}</td>
    <td class="widest dim" title={url}>
      {shorten(url) || 'deleted'}
    </td>
    <td>
      <Result last={row.last} />
      {inInbox !== undefined && <span class="tag">{IN_INBOX[inInbox]}</span>}
      {row.isGone && <span class="tag">previous run</span>}
      {row.signing !== 'valid' && <span class="tag">{row.signing}</span>}
    </td>
    <td class="wide number">{row.resendOf !== null ? 'by hand' : row.attempts === 0 ? '–' : `${row.attempts}/5`}</td>
    <td class="wide number">{row.last === null ? '–' : `${row.last.ms} ms`}</td>
    <td class="when number dim">
      <Ago at={row.last?.at ?? row.at} />
    </td>
  </>
))

function StatusMark({ row }: { readonly row: PlacedRow }): JSX.Element {
  const state = useTime((now) => stateOf(row, now))
  const isPlanned = (state === 'retrying' || state === 'waiting') && row.nextAt !== null
  return <Status state={state}>{isPlanned && <In at={row.nextAt} />}</Status>
}

/** Keeps the row of the cursor visible, and focused if the list has the focus. */
function useScrollToCursor(
  box: { readonly current: HTMLDivElement | null },
  rows: readonly PlacedRow[],
  view: View,
  id: string | undefined,
): void {
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
