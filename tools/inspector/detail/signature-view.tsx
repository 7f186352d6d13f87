import type { SignatureSteps } from '../../emulator/contract.ts'
import { nameSigning } from '../../wire/signings.ts'
import { Facts, Icon } from '../parts/small.tsx'
import type { Loaded } from './use-detail.ts'

interface SignatureOptions {
  readonly signature: Loaded<SignatureSteps>
  readonly signing: string
  /** True if the delivery succeeded. A signature that matches is folded then. */
  readonly isDelivered: boolean
}

export function SignatureView({ signature, signing, isDelivered }: SignatureOptions) {
  const { value, error } = signature
  return (
    <details class="section" open={!(isDelivered && value?.isRight)}>
      <summary>
        <h2>Signature</h2>
        {value?.digest !== undefined && (
          <span class={value.isRight ? 'good' : 'bad'}>
            <Icon sign={value.isRight ? '✓' : '✕'} /> The header{' '}
            {value.isRight ? 'matches the body.' : `does not match the body: ${nameSigning(signing)}.`}
          </span>
        )}
      </summary>
      {value === undefined ? <p class="dim">{error ?? 'Loading'}</p> : <Steps steps={value} />}
    </details>
  )
}

function Steps({ steps }: { readonly steps: SignatureSteps }) {
  const { bytes, bodySha256, secret, digest, signatureHeader, sent, wrong } = steps
  if (secret === undefined || digest === undefined)
    return <p class="dim">The webhook and its secret are deleted, so the signature cannot be computed.</p>
  const header = sent.join('\n') || `no ${signatureHeader}`
  const lines = [
    [`Take the ${bytes.toLocaleString('en')} exact bytes of the body. Their SHA-256, for comparison:`, bodySha256],
    [`Key an HMAC-SHA256 with the webhook's secret, ${secret.length} characters as text:`, `${secret.shown}…`],
    ['Write the digest in lower-case hexadecimal:', digest],
    ['Put sha256= before it, and compare it with the header in constant time. Sent:', header],
  ] as const
  return (
    <>
      <ol class="steps">
        {lines.map(([text, code]) => (
          <li key={text}>
            {text} <code>{code}</code>
          </li>
        ))}
      </ol>
      <details>
        <summary>Digests that the usual mistakes compute</summary>
        <Facts facts={wrong.map((each) => [each.fact, <code>{each.digest}</code>])} />
      </details>
    </>
  )
}
