import type { JSX } from 'preact'
import type { AttemptDetail } from '../../emulator/contract.ts'
import { showDuration } from '../../host/duration.ts'
import { readCode } from '../../wire/code-word.ts'
import { At } from '../parts/small.tsx'
import { showExactly, showSize } from '../text/bytes.ts'
import { explainCode } from '../text/explain.ts'
import { toPretty } from '../text/pretty-json.ts'
import { Pretty } from './body-view.tsx'
import { Copy, Headers } from './facts.tsx'

interface AnswerOptions {
  readonly attempt: AttemptDetail
  /** The attempt before, if there is one. */
  readonly before: AttemptDetail | undefined
}

/** The answer to one attempt. */
export function AnswerView({ attempt, before }: AnswerOptions): JSX.Element {
  const { number, status, failure, error, responseBody, responseCutAt, responseHeaders, at, durationMs } = attempt
  const code = readCode(responseBody)
  return (
    <section class="section" id="answer">
      <h2>
        Answer <span class="dim">to attempt {number}</span>
        {responseBody !== '' && <Copy text={responseBody} what="answer" />}
      </h2>
      <p>
        <b class={failure === undefined ? 'result' : 'result bad'}>{status ?? failure}</b>
        {code !== null && <b> {code}</b>}{' '}
        <span class="dim">
          {explainCode(code) ?? (status === undefined || failure === 'redirect' ? error : undefined)}
        </span>
      </p>
      {status !== undefined && (
        <>
          {responseBody === '' ? <p class="dim">The answer has no body.</p> : <Pretty text={responseBody} />}
          {responseCutAt !== undefined && <p class="dim">The answer was cut after {showSize(responseCutAt)}.</p>}
          <Headers headers={Object.entries(responseHeaders)} />
        </>
      )}
      {before !== undefined && <Changes before={before} attempt={attempt} />}
      <p class="dim">
        {describePhases(attempt)} · at <At at={at} /> · {showDuration(durationMs)} in total
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

/** Headers that differ in every answer. */
const ALWAYS_NEW = /^(date|content-length|x-request-id)$/i

/** The lines of an answer that the one before did not have, and those that only that one had. */
function Changes({ before, attempt }: AnswerOptions & { readonly before: AttemptDetail }): JSX.Element {
  const [old, now] = [toLines(before), toLines(attempt)]
  const [oldLines, nowLines] = [new Set(old), new Set(now)]
  const lines = [
    ...old.filter((line) => !nowLines.has(line)).map((line) => ['out', `- ${line}`] as const),
    ...now.map((line) => (oldLines.has(line) ? (['same', `  ${line}`] as const) : (['in', `+ ${line}`] as const))),
  ]
  const isSame = old.join('\n') === now.join('\n')
  return (
    <details class="fold diff">
      <summary>
        {isSame ? 'The same as' : 'Compare with'} the answer to attempt {before.number}
      </summary>
      <pre>
        {lines.map(([sign, line], index) => (
          <span key={index} class={sign}>
            {showExactly(line)}
            {'\n'}
          </span>
        ))}
      </pre>
    </details>
  )
}

function toLines({ status, failure, error, responseHeaders, responseBody }: AttemptDetail): readonly string[] {
  const headers = Object.entries(responseHeaders).filter(([name]) => !ALWAYS_NEW.test(name))
  const head = status === undefined ? `${failure}: ${error}` : String(status)
  return [head, ...headers.map(([name, value]) => `${name}: ${value}`), '', ...toPretty(responseBody).split('\n')]
}
