import { sign } from '../../src/protocol/signature.ts'
import { formatJson } from '../wire/json-forms.ts'
import { flipBit, spoilSignature } from '../wire/signature-mistakes.ts'
import type { Signing } from './delivery.ts'

/** Returns the values of the signature header for this kind of signature; none if the header is omitted. */
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

export interface SignedBody {
  readonly bytes: Uint8Array
  readonly signedBytes: Uint8Array | undefined
}

/** @param original bytes of the body before it was edited */
export function spoil(signing: Signing, bytes: Uint8Array, original: Uint8Array): SignedBody {
  if (signing === 'stale-bytes') return { bytes, signedBytes: original }
  if (signing === 'flip-bit') return { bytes: flipBit(bytes), signedBytes: bytes }
  if (signing === 'reserialised') return { bytes, signedBytes: writeAgain(bytes) }
  return { bytes, signedBytes: undefined }
}

/** Serializes the body like JSON.stringify(JSON.parse(body)), or in another format if the body has that one already. */
function writeAgain(bytes: Uint8Array): Uint8Array {
  const text = Buffer.from(bytes).toString()
  try {
    const compact = JSON.stringify(JSON.parse(text))
    return Buffer.from(compact === text ? formatJson(JSON.parse(text), 'pretty') : compact)
  } catch {
    return Buffer.from(`${text}\n`)
  }
}
