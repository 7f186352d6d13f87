import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { parseJson } from '../../../src/protocol/parse-json.ts'
import type { DeliveryDetail } from '../../emulator/contract.ts'
import { toPretty } from '../../wire/json.ts'
import { Button, Switch } from '../parts/fields.tsx'
import { fromBase64, showExactly, showReadably, showSize } from '../text/bytes.ts'
import { count } from '../text/count.ts'
import { Copy } from './facts.tsx'

const FORMS = [
  ['pretty', 'Pretty'],
  ['exact', 'Exact'],
] as const
/** Limit of the bytes shown; a button shows the rest. */
const SHOWN_BYTES = 32 * 1_024
/** Keys are not highlighted in longer bodies. */
const MOST_HIGHLIGHTED = 64 * 1_024

interface BytesOptions {
  readonly title: string
  readonly body: DeliveryDetail['body']
}

/** A body, formatted or exactly as it was sent. */
export function BytesView({ title, body: { base64, text } }: BytesOptions): JSX.Element {
  const [form, setForm] = useState<(typeof FORMS)[number][0]>('pretty')
  const [isWhole, setWhole] = useState(false)
  const bytes = useMemo(() => fromBase64(base64), [base64])
  const most = isWhole ? bytes.length : SHOWN_BYTES
  const isCut = bytes.length > most
  return (
    <section class="section column">
      <h2>
        {title} <span class="dim">{showSize(bytes.length)}</span>
        <Copy text={text} what="body" />
        <Switch options={FORMS} value={form} onInput={setForm} />
      </h2>
      {text === '' && <p class="dim">The body is empty.</p>}
      {form === 'exact' || isCut ? <pre>{showExactly(text.slice(0, most))}</pre> : <Pretty text={text} />}
      {isCut && <Button class="plain" label={`Show all ${showSize(bytes.length)}`} onClick={() => setWhole(true)} />}
    </section>
  )
}

/** JSON with its keys highlighted; other text as it was sent. */
export function Pretty({ text }: { readonly text: string }): JSX.Element {
  const pretty = useMemo(() => toPretty(text), [text])
  if (parseJson(text) === undefined) return <pre title="Not JSON: shown as it was sent">{showExactly(text)}</pre>
  if (pretty.length > MOST_HIGHLIGHTED) return <pre>{showReadably(pretty)}</pre>
  const pieces = pretty.split(/^( *"(?:[^"\\]|\\.)*")(?=: )/m)
  return (
    <pre>
      {pieces.map((piece, index) => (
        <span key={index} class={index % 2 === 1 ? 'key' : undefined}>
          {showReadably(piece)}
        </span>
      ))}
    </pre>
  )
}

/** Frames of a stack that are not of the user's code. */
const FOREIGN = /((?:\n\s+at .*(?:[\\/]node_modules[\\/]|node:|\(<anonymous>\)|\(index \d+\)).*)+)/

/** An error with its stack. The frames of libraries are folded. */
export function Stack({ text }: { readonly text: string }): JSX.Element {
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
