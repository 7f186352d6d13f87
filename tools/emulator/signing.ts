import { sign } from '../../src/protocol/signature.ts'
import { formatJson } from '../wire/json-forms.ts'
import { flipBit, spoilSignature } from '../wire/signature-mistakes.ts'
import type { Signing } from './delivery.ts'

/**
 * Returns the values of the signature header for this kind of signature; none if the header is omitted.
 *
 * @param staleBytes the bytes before the edit
 */
export function signAs(
  signing: Signing,
  bytes: Uint8Array,
  staleBytes: Uint8Array | undefined,
  secret: string,
): readonly string[] {
  switch (signing) {
    case 'valid':
      return [sign(bytes, secret)]
    case 'stale-bytes':
      return [sign(staleBytes ?? bytes, secret)]
    case 'flip-bit':
      return [sign(flipBit(bytes), secret)]
    case 'reserialised':
      return [sign(writeAgain(bytes), secret)]
    case 'none':
      return []
    default:
      return spoilSignature(signing === 'wrong' ? 'other-secret' : signing, bytes, secret)
  }
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
