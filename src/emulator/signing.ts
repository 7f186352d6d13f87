import { sign } from '../protocol/signature.ts'
import { formatJson } from '../wire/json-forms.ts'
import { flipBit, spoilSignature } from '../wire/spoil.ts'

/** Every kind of signature; each but the first is wrong in one way. */
export const SIGNINGS = [
  'valid',
  /** Without the header. */
  'none',
  /** By another secret. */
  'wrong',
  /** The signature of the original bytes over an edited body. */
  'stale-bytes',
  /** One bit of the body is flipped after signing. */
  'flip-bit',
  /** Over the same JSON, written in another way. */
  'reserialised',
  /** The digits without `sha256=`. */
  'no-prefix',
  /** `sha1=` and an HMAC-SHA1. */
  'sha1',
  /** The last two digits are missing. */
  'short',
  /** Two digits too many. */
  'long',
  'non-hex',
  /** Two headers: the right signature, then one by another secret. */
  'two-headers',
] as const

/** Kind of signature: only a resent delivery has another than `valid`. */
export type Signing = (typeof SIGNINGS)[number]

/** Values of the signature header for bytes that are signed so; none if it is left out. */
export function signAs(signing: Signing, signedBytes: Uint8Array, secret: string): readonly string[] {
  switch (signing) {
    case 'valid':
    case 'stale-bytes':
    case 'flip-bit':
    case 'reserialised':
      return [sign(signedBytes, secret)]
    case 'none':
      return []
    default:
      return spoilSignature(signing === 'wrong' ? 'other-secret' : signing, signedBytes, secret)
  }
}

/** What is sent and what the signature covers, if a body is resent so. */
export interface SignedBody {
  readonly bytes: Uint8Array
  /** Undefined if it is the body. */
  readonly signedBytes: Uint8Array | undefined
}

/** @param original the bytes that were sent before the body was edited */
export function spoil(signing: Signing, bytes: Uint8Array, original: Uint8Array): SignedBody {
  if (signing === 'stale-bytes') return { bytes, signedBytes: original }
  if (signing === 'flip-bit') return { bytes: flipBit(bytes), signedBytes: bytes }
  if (signing === 'reserialised') return { bytes, signedBytes: writeAgain(bytes) }
  return { bytes, signedBytes: undefined }
}

/** As JSON.stringify(JSON.parse(body)) writes it, or otherwise if that is what was sent. */
function writeAgain(bytes: Uint8Array): Uint8Array {
  const text = Buffer.from(bytes).toString()
  try {
    const compact = JSON.stringify(JSON.parse(text))
    return Buffer.from(compact === text ? formatJson(JSON.parse(text), 'pretty') : compact)
  } catch {
    return Buffer.from(`${text}\n`)
  }
}
