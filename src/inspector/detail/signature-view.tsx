import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { SignatureSteps } from '../../emulator/contract.ts'
import { Field } from '../parts/fields.tsx'
import { Icon } from '../parts/small.tsx'
import { nameSigning } from '../text/explain.ts'
import type { Loaded } from './use-detail.ts'

interface SignatureOptions {
  readonly signature: Loaded<SignatureSteps>
  readonly signing: string
  /** True if the delivery succeeded. A signature that matches is folded then. */
  readonly isDelivered: boolean
}

/** Shows how the signature is computed, step by step, with this delivery's values. */
export function SignatureView({ signature, signing, isDelivered }: SignatureOptions): JSX.Element {
  const { value, error } = signature
  const proof = value?.isRight
    ? 'The header matches the body.'
    : `The header does not match the body: ${nameSigning(signing)}.`
  return (
    <details class="section fold signature" id="signature" open={!(isDelivered && value?.isRight)}>
      <summary>
        <h2>Signature</h2>
        {value?.digest !== undefined && (
          <span class={value.isRight ? 'proof' : 'proof bad'}>
            <Icon sign={value.isRight ? '✓' : '✕'} /> {proof}
          </span>
        )}
      </summary>
      {value === undefined ? <p class="dim">{error ?? 'Loading'}</p> : <Steps steps={value} />}
    </details>
  )
}

function Steps({ steps }: { readonly steps: SignatureSteps }): JSX.Element {
  const { bytes, bodySha256, secret, digest, sent } = steps
  if (secret === undefined || digest === undefined)
    return <p class="dim">The webhook and its secret are deleted, so the signature cannot be computed.</p>
  return (
    <>
      <ol class="steps">
        <li>
          <span>Take the {bytes.toLocaleString('en')} exact bytes of the body. Their SHA-256, for comparison:</span>
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
          <span>Put sha256= before it, and compare it with the header in constant time. Sent:</span>
          {(sent.length === 0 ? ['no X-Service-Signature'] : sent).map((value) => (
            <code key={value}>{value}</code>
          ))}
        </li>
      </ol>
      <Compare steps={steps} />
    </>
  )
}

/** Explains a digest that the user's code computed, by the usual mistakes. */
function Compare({ steps }: { readonly steps: SignatureSteps }): JSX.Element {
  const [given, setGiven] = useState('')
  const wanted = given.replace(/^\s*(sha256=)?|\s+$/gi, '').toLowerCase()
  const found = steps.wrong.find(({ digest }) => wanted.length >= 8 && digest.toLowerCase().startsWith(wanted))
  const isRight = wanted.length >= 8 && steps.digest?.startsWith(wanted)
  const word = isRight
    ? 'This is the right digest. The mistake is in the code that compares it.'
    : found !== undefined
      ? found.fact
      : 'This is not one of the usual mistakes: your code used another secret or other bytes. Compare the SHA-256 of the body first.'
  return (
    <>
      <Field class="field" label="Does your code compute another digest? Paste it:" value={given} onInput={setGiven} />
      <p role="status">{wanted.length >= 8 && word}</p>
    </>
  )
}
