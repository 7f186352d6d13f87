import type { JSX } from 'preact'
import { showDuration } from '../../../src/host/duration.ts'
import type { AttemptDetail } from '../../emulator/contract.ts'
import { readCode } from '../../wire/code-word.ts'
import { showSize } from '../text/bytes.ts'
import { showExact } from '../text/times.ts'
import { Pretty } from './body-view.tsx'
import { Headers } from './facts.tsx'

/** The answer to one attempt. */
export function AnswerView({ attempt }: { readonly attempt: AttemptDetail }): JSX.Element {
  const { number, status, failure, error, responseBody, responseCutAt, responseHeaders, at, durationMs } = attempt
  const code = readCode(responseBody)
  return (
    <section class="section column">
      <h2>
        Response <span class="dim">to attempt {number}</span>
      </h2>
      <p>
        <b class={failure === undefined ? 'result' : 'result bad'}>{status ?? failure}</b>
        {code !== null && <b> {code}</b>}{' '}
        <span class="dim">{(status === undefined || failure === 'redirect') && error}</span>
      </p>
      {status !== undefined && (
        <>
          {responseBody === '' ? <p class="dim">The response has no body.</p> : <Pretty text={responseBody} />}
          {responseCutAt !== undefined && <p class="dim">The response was cut after {showSize(responseCutAt)}.</p>}
          <Headers headers={Object.entries(responseHeaders)} />
        </>
      )}
      <p class="dim">
        {describePhases(attempt)} · at {showExact(at)} · {showDuration(durationMs)} in total
      </p>
    </section>
  )
}

/** The time that each phase of an attempt took. */
function describePhases({ phases: { connectMs, waitMs, bodyMs } = {}, status }: AttemptDetail): string {
  const parts = [
    ['connect', connectMs],
    [status === undefined ? 'no answer for' : 'wait', waitMs],
    ['body', bodyMs],
  ] as const
  if (connectMs === undefined) return 'no connection'
  return parts
    .flatMap(([name, ms]) => (ms === undefined ? [] : [`${name} ${ms < 10 ? `${ms} ms` : showDuration(ms)}`]))
    .join(' · ')
}
