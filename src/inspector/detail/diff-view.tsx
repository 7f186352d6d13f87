import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { AttemptDetail } from '../../emulator/contract.ts'
import { Field } from '../parts/fields.tsx'
import { showExactly } from '../text/bytes.ts'
import { diffLines } from '../text/diff-lines.ts'
import { toPretty } from '../text/pretty-json.ts'

/** Headers that differ in every answer. */
const ALWAYS_NEW = /^(date|content-length|x-request-id)$/i

/** The answers of two attempts, line by line. */
export function DiffView({ attempts }: { readonly attempts: readonly AttemptDetail[] }): JSX.Element | null {
  const last = attempts.at(-1)?.number ?? 0
  const [before, setBefore] = useState<number>()
  const [after, setAfter] = useState<number>()
  const one = attempts.find(({ number }) => number === (before ?? last - 1))
  const other = attempts.find(({ number }) => number === (after ?? last))
  if (one === undefined || other === undefined) return null
  const options = attempts.map(
    ({ number, status, failure }) => [`${number}`, `${number}: ${status ?? failure}`] as const,
  )
  const lines = diffLines(toText(one), toText(other))
  const isSame = lines.every(({ sign }) => sign === ' ')
  return (
    <details class="section fold diff">
      <summary>
        <h2>
          Compare answers{' '}
          <span class="dim">
            {isSame ? 'the answers are the same' : `attempt ${one.number} and ${other.number} differ`}
          </span>
        </h2>
      </summary>
      <p>
        <Field label="Attempt" options={options} value={`${one.number}`} onInput={(n) => setBefore(Number(n))} />{' '}
        <Field label="with" options={options} value={`${other.number}`} onInput={(n) => setAfter(Number(n))} />
      </p>
      <pre>
        {lines.map(({ sign, text }, index) => (
          <span key={index} class={sign === ' ' ? 'same' : sign === '-' ? 'out' : 'in'}>
            {sign} {showExactly(text)}
            {'\n'}
          </span>
        ))}
      </pre>
    </details>
  )
}

function toText({ status, failure, error, responseHeaders, responseBody }: AttemptDetail): string {
  const headers = Object.entries(responseHeaders).filter(([name]) => !ALWAYS_NEW.test(name))
  const head = status === undefined ? [`${failure}: ${error}`] : [String(status)]
  return [...head, ...headers.map(([name, value]) => `${name}: ${value}`), '', toPretty(responseBody)].join('\n')
}
