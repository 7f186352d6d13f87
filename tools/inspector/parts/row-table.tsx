import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Row } from '../../emulator/contract.ts'
import { follow, go, readAddress, toPageUrl } from '../model/address.ts'
import { stateInInbox } from '../model/inbox.ts'
import { hold, release } from '../model/list.ts'
import { store, useStore } from '../model/store.ts'
import { escapeHidden } from '../text/bytes.ts'
import { adviseOn } from '../text/explain.ts'
import { Ago, Head, In, Result, Status, stateOf, useTime } from './small.tsx'

/** Number of rows that are drawn at first, and more each time that the end comes near. There may be ten thousand. */
const ROWS_DRAWN = 40
const NEAR_PX = 800

/** The list of deliveries. */
export function RowTable({ rows }: { readonly rows: readonly Row[] }): JSX.Element {
  const [drawn, setDrawn] = useState(ROWS_DRAWN)
  const delivery = useStore(() => readAddress().delivery)
  const current = rows.findIndex(({ id }) => id === delivery)
  const onScroll = ({ currentTarget }: { readonly currentTarget: HTMLElement }) => {
    const { scrollTop, clientHeight, scrollHeight } = currentTarget
    if (scrollTop + clientHeight + NEAR_PX > scrollHeight) setDrawn(Math.min(rows.length, drawn + ROWS_DRAWN))
    // At the top, new rows are shown again, unless the user reads one.
    if (scrollTop > 0) hold()
    else if (delivery === undefined && !currentTarget.contains(document.activeElement)) release()
  }
  useEffect(() => {
    document.querySelector('.row[aria-current]')?.scrollIntoView({ block: 'nearest' })
  }, [delivery, rows.length > 0])
  return (
    <div class="scroll" onScroll={onScroll} onFocusIn={hold}>
      <table class="rows" aria-rowcount={rows.length + 1}>
        <Head columns={[['Delivery'], ['Status'], ['Answer']]} />
        <tbody>
          {rows.slice(0, Math.max(drawn, current + ROWS_DRAWN)).map((row, index) => (
            <RowLine key={row.id} row={row} index={index} isCurrent={index === current} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

const IN_INBOX = { waiting: '○ waiting', running: '◌ running', dead: '✕ dead letter' } as const

interface LineOptions {
  readonly row: Row
  readonly index: number
  readonly isCurrent: boolean
}

function RowLine({ row, index, isCurrent }: LineOptions): JSX.Element {
  const { id, type, event, account, last, signing, resendOf, attempts } = row
  const state = useTime((now) => stateOf(row, now))
  const isPlanned = state === 'retrying' || state === 'waiting'
  const url = store.urlOf(row.webhook)
  const inInbox = last?.code === 'accepted' && stateInInbox(account, event)
  const tags = [inInbox && IN_INBOX[inInbox], signing !== 'valid' && signing]
  const notes = [...tags, ...(last ? [resendOf === null ? `${attempts}/5` : 'by hand', `${last.ms} ms`] : [])]
  return (
    <tr
      class="row"
      aria-rowindex={index + 2}
      aria-current={isCurrent || undefined}
      onClick={(click) => follow(click, () => go({ delivery: id }))}
    >
      <td title={`${type}\n${event} to ${url || 'a deleted webhook'}`}>
        <a href={toPageUrl({ ...readAddress(), delivery: id })} data-key={id}>
          {escapeHidden(type)}
        </a>
        <small>
          {account} · {escapeHidden(event.length > 20 ? `…${event.slice(-8)}` : event)} ·{' '}
          {url.replace(/^https?:\/\/(localhost|127\.0\.0\.1)?/, '')}
        </small>
      </td>
      <td>
        <Status state={state} />
        <small>{isPlanned ? <In at={row.nextAt} /> : <Ago at={last?.at ?? row.at} />}</small>
      </td>
      <td title={adviseOn(row, url, store.state?.settings.deadlineMs)}>
        <Result last={last} />
        <small>{notes.filter(Boolean).join(' · ')}</small>
      </td>
    </tr>
  )
}
