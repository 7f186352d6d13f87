import type { JSX } from 'preact'
import { store, useStore } from '../model/store.ts'
import { Ago, Empty, FlatTable } from '../parts/small.tsx'

const COLUMNS = [['Status'], ['Call'], ['Account'], ['Rate left', 'number'], ['When', 'number']] as const

/** Every call of the service's API, the newest first. */
export function Calls(): JSX.Element {
  const calls = useStore(() => store.calls)
  if (calls.length === 0)
    return (
      <Empty title="No API calls yet">
        <p>
          Your client's calls of <code>/api/…</code> appear here, with their status and the remaining rate limit.
        </p>
      </Empty>
    )
  return (
    <>
      <p class="dim">The last {calls.length} calls of your client.</p>
      <FlatTable name="Calls" columns={COLUMNS}>
        {calls.slice(0, 200).map(({ id, status, method, path, account, rateRemaining, at }) => (
          <tr key={id}>
            <td class={status < 400 ? 'result' : 'result bad'}>
              <span aria-hidden="true">{status < 400 ? '✓ ' : '✕ '}</span>
              <b>{status}</b>
            </td>
            <td class="mono">
              {method} {path}
            </td>
            <td>{account ?? '–'}</td>
            <td class="number">{rateRemaining ?? '–'}</td>
            <td class="number dim">
              <Ago at={at} />
            </td>
          </tr>
        ))}
      </FlatTable>
    </>
  )
}
