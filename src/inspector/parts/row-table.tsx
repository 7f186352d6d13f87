import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Row } from '../../emulator/contract.ts'
import type { InboxStateName } from '../../emulator/inspector/inbox-shapes.ts'
import { follow, go, readAddress, toPageUrl } from '../model/address.ts'
import { stateInInbox } from '../model/inbox.ts'
import { hold, release, select } from '../model/list.ts'
import { store, useStore } from '../model/store.ts'
import { escapeHidden } from '../text/bytes.ts'
import { adviseOn } from '../text/explain.ts'
import { Ago, Head, In, memo, Result, Status, stateOf, useTime } from './small.tsx'

/** Number of rows that are drawn at first, and more each time that the end comes near. There may be ten thousand. */
const ROWS_DRAWN = 40
const NEAR_PX = 800

/** The list of deliveries. */
export function RowTable({ rows }: { readonly rows: readonly Row[] }): JSX.Element {
  const [drawn, setDrawn] = useState(ROWS_DRAWN)
  const currentId = useStore(() => readAddress().delivery ?? store.cursor)
  const current = rows.findIndex(({ id }) => id === currentId)
  const onScroll = ({ currentTarget: { scrollTop, clientHeight, scrollHeight } }: { currentTarget: HTMLElement }) => {
    if (scrollTop + clientHeight + NEAR_PX > scrollHeight) setDrawn(Math.min(rows.length, drawn + ROWS_DRAWN))
    // At the top, new rows are shown again, unless the user reads one.
    if (scrollTop > 0) hold()
    else if (currentId === undefined) release()
  }
  useEffect(() => {
    const row = document.getElementById(`row-${currentId}`)
    row?.closest('tr')?.scrollIntoView({ block: 'nearest' })
    const focused = document.activeElement
    if (focused === document.body || focused?.id.startsWith('row-')) row?.focus({ preventScroll: true })
  }, [currentId, rows.length > 0])
  return (
    <div class="scroll" onScroll={onScroll}>
      <table class="rows" aria-rowcount={rows.length + 1}>
        <Head columns={[['Delivery'], ['Status'], ['Answer']]} />
        <tbody>
          {rows.slice(0, Math.max(drawn, current + ROWS_DRAWN)).map((row, index) => (
            <RowLine
              key={row.id}
              row={row}
              index={index}
              isCurrent={index === current}
              canFocus={index === Math.max(0, current)}
            />
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface LineOptions {
  readonly row: Row
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
    <tr class="row" aria-rowindex={index + 2} aria-current={isCurrent || undefined} onClick={open}>
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
  readonly row: Row
  readonly canFocus: boolean
  readonly isPinned: boolean
  readonly url: string
  /** State of an accepted event that is still in the inbox. */
  readonly inInbox: InboxStateName | undefined
}

const IN_INBOX = { waiting: '○ waiting', running: '◌ running', dead: '✕ dead letter' } as const

const Cells: (options: CellOptions) => JSX.Element = memo(({ row, canFocus, isPinned, url, inInbox }: CellOptions) => {
  const { id, type, event, account, last, signing, resendOf, attempts } = row
  const state = useTime((now) => stateOf(row, now))
  const isPlanned = state === 'retrying' || state === 'waiting'
  const tags = [inInbox && IN_INBOX[inInbox], signing !== 'valid' && signing].filter(Boolean)
  const advice = last && !last.isAcknowledged && adviseOn(last, url, store.state?.settings.deadlineMs)
  return (
    <>
      <td title={`${event} to ${url || 'a deleted webhook'}`}>
        <a href={toPageUrl({ ...readAddress(), delivery: id })} tabIndex={canFocus ? 0 : -1} id={`row-${id}`}>
          {isPinned && '★ '}
          {escapeHidden(type)}
        </a>
        <div class="dim">
          {account} · {escapeHidden(event)} · {url.replace(/^https?:\/\/(localhost|127\.0\.0\.1)?/, '')}
        </div>
      </td>
      <td>
        <Status state={state} />
        <div class="dim">{isPlanned ? <In at={row.nextAt} /> : <Ago at={last?.at ?? row.at} />}</div>
      </td>
      <td title={advice || undefined}>
        <Result last={last} />
        {tags.map((tag) => (
          <span class="tag">{tag}</span>
        ))}
        <div class="dim">{last && `${resendOf === null ? `${attempts}/5` : 'by hand'} · ${last.ms} ms`}</div>
      </td>
    </>
  )
})
