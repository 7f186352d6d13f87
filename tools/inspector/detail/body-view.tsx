import { useMemo, useState } from 'preact/hooks'
import { parseJson } from '../../../src/protocol/parse-json.ts'
import type { DeliveryDetail } from '../../emulator/contract.ts'
import { toPretty } from '../../wire/json.ts'
import { copyText } from '../model/actions.ts'
import { Button, Switch } from '../parts/fields.tsx'
import { Facts } from '../parts/small.tsx'
import { count, fromBase64, showExactly, showReadably, showSize } from '../text/show.ts'

export const BODY_FORMS = [
  ['pretty', 'Pretty'],
  ['exact', 'Exact'],
] as const
const SHOWN_BYTES = 32 * 1_024
const MOST_HIGHLIGHTED = 64 * 1_024

export function BytesView({ title, body }: { readonly title: string; readonly body: DeliveryDetail['body'] }) {
  const { base64, text } = body
  const [form, setForm] = useState<(typeof BODY_FORMS)[number][0]>('pretty')
  const [isWhole, setWhole] = useState(false)
  const bytes = useMemo(() => fromBase64(base64), [base64])
  const most = isWhole ? bytes.length : SHOWN_BYTES
  const isCut = bytes.length > most
  return (
    <section class="section column">
      <h2>
        {title} <span class="dim">{showSize(bytes.length)}</span>
        <Copy text={text} what="body" />
        <span class="push" />
        <Switch options={BODY_FORMS} value={form} onInput={setForm} />
      </h2>
      {text === '' && <p class="dim">The body is empty.</p>}
      {form === 'exact' || isCut ? <Exact text={text.slice(0, most)} /> : <Pretty text={text} />}
      {isCut && <Button class="plain" label={`Show all ${showSize(bytes.length)}`} onClick={() => setWhole(true)} />}
    </section>
  )
}

// The page is drawn often: a body keeps its elements until it changes.

function Exact({ text }: { readonly text: string }) {
  return useMemo(() => <pre>{showExactly(text)}</pre>, [text])
}

/** JSON with its keys highlighted; other text as it was sent. */
export function Pretty({ text }: { readonly text: string }) {
  return useMemo(() => {
    if (parseJson(text) === undefined) return <pre title="Not JSON: shown as it was sent">{showExactly(text)}</pre>
    const pretty = toPretty(text)
    const pieces = pretty.length > MOST_HIGHLIGHTED ? [pretty] : pretty.split(/^( *"(?:[^"\\]|\\.)*")(?=: )/m)
    return (
      <pre>
        {pieces.map((piece, at) => (at % 2 === 0 ? showReadably(piece) : <code key={at}>{showReadably(piece)}</code>))}
      </pre>
    )
  }, [text])
}

/** Frames of a stack that are not of the user's code. */
const FOREIGN = /((?:\n\s+at .*(?:[\\/]node_modules[\\/]|node:|\(<anonymous>\)|\(index \d+\)).*)+)/

/** An error with its stack. The frames of libraries are folded. */
export function Stack({ text }: { readonly text: string }) {
  return (
    <div class="stack">
      {text.split(FOREIGN).map((part, index) => {
        const lines = showReadably(part.replace(/^\n/, ''))
        if (index % 2 === 0) return <span key={index}>{lines}</span>
        return (
          <details key={index}>
            <summary>… {count(lines.split('\n').length, 'frame', 'frames')} of libraries</summary>
            {lines}
          </details>
        )
      })}
    </div>
  )
}

export function Copy({ text, what }: { readonly text: string; readonly what: string }) {
  const label = `Copy the ${what}`
  return (
    <Button class="plain copy" label="copy" title={label} aria-label={label} onClick={() => copyText(text, what)} />
  )
}

export function Headers({ headers }: { readonly headers: readonly (readonly [string, string])[] }) {
  return (
    <details class="headers">
      <summary>{count(headers.length, 'header', 'headers')}</summary>
      <Facts facts={headers.map(([name, value]) => [name, showExactly(value)])} />
    </details>
  )
}
