import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { SignatureSteps } from '../shapes.ts'
import { nameSigning } from '../text/explain.ts'
import type { Loaded } from './use-detail.ts'

interface SignatureOptions {
  readonly signature: Loaded<SignatureSteps>
  readonly signing: string
}

/** How the signature comes about, step by step, with this delivery's values. */
export function SignatureView({ signature, signing }: SignatureOptions): JSX.Element {
  const { value, error } = signature
  return (
    <div class="section signature">
      <h2>Signature</h2>
      {value === undefined ? <p class="dim">{error ?? 'Loading'}</p> : <Steps steps={value} signing={signing} />}
    </div>
  )
}

function Steps({ steps, signing }: { readonly steps: SignatureSteps; readonly signing: string }): JSX.Element {
  const { bytes, bodySha256, secret, digest, sent, isRight } = steps
  if (secret === undefined || digest === undefined)
    return <p class="dim">The webhook is deleted, and its secret with it: nothing can be computed.</p>
  return (
    <>
      <ol class="steps">
        <li>
          <span>Take the {bytes.toLocaleString('en')} exact bytes of the body. Their SHA-256, for comparing:</span>
          <code>{bodySha256}</code>
        </li>
        <li>
          <span>
            Key an HMAC-SHA256 with the webhook's secret, {secret.length} characters as text:{' '}
            <code>{secret.shown}…</code>
          </span>
        </li>
        <li>
          <span>Write the digest in lower-case hexadecimal:</span>
          <code>{digest}</code>
        </li>
        <li>
          <span>Compare it with the header, sha256= before it, in constant time. Sent:</span>
          {sent.length === 0 ? (
            <code>no X-Service-Signature</code>
          ) : (
            sent.map((value) => <code key={value}>{value}</code>)
          )}
        </li>
      </ol>
      <p class={isRight ? 'proof' : 'proof bad'}>
        <span class="icon" aria-hidden="true">
          {isRight ? '✓' : '✕'}
        </span>{' '}
        {isRight ? 'The header fits the body.' : `The header does not fit: ${nameSigning(signing)}.`}
      </p>
      <Compare steps={steps} />
    </>
  )
}

/** Tells what code signed that computed another digest. */
function Compare({ steps }: { readonly steps: SignatureSteps }): JSX.Element {
  const [given, setGiven] = useState('')
  const wanted = given
    .trim()
    .toLowerCase()
    .replace(/^sha256=/, '')
  const found = steps.wrong.find(({ digest }) => wanted.length >= 8 && digest.startsWith(wanted))
  const isRight = wanted.length >= 8 && steps.digest?.startsWith(wanted)
  const word = isRight
    ? 'That is the right digest: the code that compares it is to blame.'
    : found !== undefined
      ? `That is what comes of signing ${found.what}.`
      : 'None of the usual mistakes: another secret, or other bytes. Compare the SHA-256 of the body first.'
  return (
    <div class="compare">
      <label>
        Your code computes another one? Paste it:
        <input
          type="text"
          class="mono"
          value={given}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => setGiven(event.currentTarget.value)}
        />
      </label>
      <p role="status">{wanted.length >= 8 && word}</p>
    </div>
  )
}
