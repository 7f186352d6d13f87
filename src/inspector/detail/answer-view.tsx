import type { JSX } from 'preact'
import type { AttemptDetail } from '../../emulator/contract.ts'
import { showDuration } from '../../host/duration.ts'
import { readCode } from '../../wire/code-word.ts'
import { At } from '../parts/small.tsx'
import { showExactly, showReadably, showSize } from '../text/bytes.ts'
import { count } from '../text/count.ts'
import { explainCode } from '../text/explain.ts'
import { prettify } from '../text/pretty-json.ts'

/** The answer to one attempt. */
export function AnswerView({ attempt }: { readonly attempt: AttemptDetail }): JSX.Element {
  const { number, status, failure, error, responseBody, responseCutAt, durationMs } = attempt
  const code = readCode(responseBody)
  return (
    <div class="section" id="answer">
      <h2>
        Answer <span class="dim">to attempt {number}</span>
      </h2>
      <p class="answer">
        <b class={failure === undefined ? 'result' : 'result bad'}>{status ?? failure}</b>
        {code !== null && <b> {code}</b>}
        <span class="dim">
          {' '}
          {explainCode(code) ?? (status === undefined || failure === 'redirect' ? error : undefined)}
        </span>
      </p>
      {status !== undefined && (
        <>
          {responseBody === '' ? <p class="dim">The answer has no body.</p> : <pre>{showBody(responseBody)}</pre>}
          {responseCutAt !== undefined && <p class="dim">The answer was cut after {showSize(responseCutAt)}.</p>}
          <HeaderList headers={Object.entries(attempt.responseHeaders)} />
        </>
      )}
      <p class="dim">
        <Spans attempt={attempt} /> · at <At at={attempt.at} /> · {showDuration(durationMs)} in total
      </p>
    </div>
  )
}

function showBody(body: string): string {
  const pieces = prettify(body)
  return pieces === undefined ? showExactly(body) : showReadably(pieces.map(({ text }) => text).join(''))
}

/** The time that each phase of an attempt took. */
function Spans({ attempt: { phases = {}, status } }: { readonly attempt: AttemptDetail }): JSX.Element {
  const { connectMs, waitMs, bodyMs } = phases
  if (connectMs === undefined) return <span>no connection</span>
  const parts = [
    ['connect', connectMs],
    [status === undefined ? 'no answer for' : 'wait', waitMs],
    ['body', bodyMs],
  ] as const
  return (
    <span>
      {parts
        .filter(([, ms]) => ms !== undefined)
        .map(([name, ms = 0]) => `${name} ${ms < 10 ? `${ms} ms` : showDuration(ms)}`)
        .join(' · ')}
    </span>
  )
}

/** Headers, exactly as they were sent. */
export function HeaderList({ headers }: { readonly headers: readonly (readonly [string, string])[] }): JSX.Element {
  return (
    <details class="headers">
      <summary>{count(headers.length, 'header', 'headers')}</summary>
      <dl>
        {headers.map(([name, value], index) => (
          <div key={`${name} ${index}`}>
            <dt>{name}</dt>
            <dd>{showExactly(value)}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}
