import type { ComponentChildren, JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { DeliveryDetail } from '../../emulator/contract.ts'
import { store } from '../model/store.ts'
import { Button, Switch } from '../parts/fields.tsx'
import { fromBase64, showExactly, showReadably, showSize, toHex } from '../text/bytes.ts'
import { prettify } from '../text/pretty-json.ts'
import { HeaderList } from './answer-view.tsx'

const FORMS = [
  ['pretty', 'Pretty'],
  ['exact', 'Exact'],
  ['hex', 'Hex'],
] as const
/** Limit of the bytes shown; a button shows the rest. */
const SHOWN_BYTES = 32 * 1_024
/** Keys are not highlighted in bodies of more pieces. */
const MOST_PIECES = 2_000

interface SentOptions {
  readonly detail: DeliveryDetail
  /** Values of the signature header. */
  readonly signatures: readonly string[]
}

/** The body and the headers of a delivery, as they were sent. */
export function BodyView({ detail, signatures }: SentOptions): JSX.Element {
  const url = detail.attempts.at(-1)?.url ?? store.urlOf(detail.webhookId)
  const headers = [
    ['Host', URL.canParse(url) ? new URL(url).host : ''],
    ['Content-Type', 'application/json'],
    ['Content-Length', String(fromBase64(detail.body.base64).length)],
    ['User-Agent', 'postern-emulator'],
    ...signatures.map((signature) => ['X-Service-Signature', signature] as const),
  ] as const
  return (
    <BytesView title="Sent" body={detail.body}>
      <HeaderList headers={headers} />
    </BytesView>
  )
}

interface BytesOptions {
  readonly title: string
  readonly body: DeliveryDetail['body']
  readonly children?: ComponentChildren
}

/** A body in three forms. */
export function BytesView({ title, body, children }: BytesOptions): JSX.Element {
  const [form, setForm] = useState<(typeof FORMS)[number][0]>('pretty')
  const [isWhole, setWhole] = useState(false)
  const { base64, text } = body
  const bytes = useMemo(() => fromBase64(base64), [base64])
  const most = isWhole ? bytes.length : SHOWN_BYTES
  const isCut = bytes.length > most
  return (
    <div class="section" id="sent">
      <h2>
        {title} <span class="dim">{showSize(bytes.length)}</span>
        <Switch options={FORMS} value={form} onInput={setForm} />
      </h2>
      {form === 'pretty' && <Pretty text={isCut ? text.slice(0, most) : text} isCut={isCut} />}
      {form === 'exact' && <pre class="exact">{showExactly(text.slice(0, most))}</pre>}
      {form === 'hex' && <pre class="hex">{toHex(bytes, most)}</pre>}
      {isCut && <Button class="plain" label={`Show all ${showSize(bytes.length)}`} onClick={() => setWhole(true)} />}
      {children}
    </div>
  )
}

function Pretty({ text, isCut }: { readonly text: string; readonly isCut: boolean }): JSX.Element {
  const pieces = useMemo(() => (isCut ? undefined : prettify(text)), [text, isCut])
  if (pieces === undefined)
    return (
      <>
        {!isCut && (
          <p class="dim">{text === '' ? 'The body is empty.' : 'The body is not JSON, and is shown as it was sent.'}</p>
        )}
        <pre>{showExactly(text)}</pre>
      </>
    )
  if (pieces.length > MOST_PIECES) return <pre>{showReadably(pieces.map((piece) => piece.text).join(''))}</pre>
  return (
    <pre>
      {pieces.map((piece, index) => (
        <span key={index} class={piece.isKey ? 'key' : undefined}>
          {showReadably(piece.text)}
        </span>
      ))}
    </pre>
  )
}
