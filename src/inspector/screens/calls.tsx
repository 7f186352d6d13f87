import type { JSX } from 'preact'
import { page } from '../model/page-model.ts'
import { Ago, Empty } from '../parts/small.tsx'

/** Every call of the service's API, the newest first. */
export function Calls(): JSX.Element {
  const { calls } = page
  if (calls.length === 0)
    return (
      <Empty title="No API calls yet">
        <p>
          Your client's calls of <code>/api/…</code> appear here, with their status and the remaining rate limit.
        </p>
      </Empty>
    )
  return (
    <div class="page">
      <h1>API log</h1>
      <p class="dim">The last {calls.length} calls of your client.</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by the keyboard */}
      <section class="scroll flat" tabIndex={0} aria-label="Calls">
        <table>
          <thead>
            <tr>
              <th scope="col">Status</th>
              <th scope="col">Call</th>
              <th scope="col">Account</th>
              <th scope="col" class="number">
                Rate left
              </th>
              <th scope="col" class="number">
                When
              </th>
            </tr>
          </thead>
          <tbody>
            {calls.slice(0, 200).map((call) => (
              <tr key={call.id}>
                <td>
                  <span class={call.status < 400 ? 'result' : 'result bad'}>
                    <span aria-hidden="true">{call.status < 400 ? '✓ ' : '✕ '}</span>
                    <b>{call.status}</b>
                  </span>
                </td>
                <td class="mono">
                  {call.method} {call.path}
                </td>
                <td>{call.account ?? '–'}</td>
                <td class="number">{call.rateRemaining ?? '–'}</td>
                <td class="number dim">
                  <Ago at={call.at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </div>
  )
}
