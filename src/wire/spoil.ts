import { createHmac } from 'node:crypto'
import { type Secret, sign } from '../protocol/signature.ts'

/** Fault of a signature header. */
export type SignatureFault = 'other-secret' | 'two-headers' | 'no-prefix' | 'sha1' | 'short' | 'long' | 'non-hex'

const OTHER_SECRET = 'a secret that the receiver does not have'

/** Returns the values of a body's signature header with that fault. */
export function spoilSignature(fault: SignatureFault, body: Uint8Array, secret: Secret): readonly string[] {
  const right = sign(body, secret)
  switch (fault) {
    case 'other-secret':
      return [sign(body, OTHER_SECRET)]
    case 'two-headers':
      return [right, sign(body, OTHER_SECRET)]
    case 'no-prefix':
      return [right.slice('sha256='.length)]
    case 'sha1':
      return [`sha1=${createHmac('sha1', secret).update(body).digest('hex')}`]
    case 'short':
      return [right.slice(0, -2)]
    case 'long':
      return [`${right}00`]
    case 'non-hex':
      return [`${right.slice(0, -1)}g`]
  }
}

/** Flips the lowest bit of the middle byte: text stays text, with one other character. */
export function flipBit(body: Uint8Array): Uint8Array<ArrayBuffer> {
  const flipped = new Uint8Array(body)
  const middle = flipped.length >> 1
  flipped[middle] = (flipped[middle] ?? 0) ^ 1
  return flipped
}
