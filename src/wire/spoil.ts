import { createHmac } from 'node:crypto'
import { type Secret, sign } from '../protocol/signature.ts'

/** Fault of a signature header. */
export type SignatureFault = 'other-secret' | 'two-headers' | 'no-prefix' | 'sha1' | 'short' | 'long' | 'non-hex'

const OTHER_SECRET = 'a secret that the receiver does not have'

const FAULTS: Readonly<Record<SignatureFault, (right: string, body: Uint8Array, secret: Secret) => readonly string[]>> =
  {
    'other-secret': (_right, body) => [sign(body, OTHER_SECRET)],
    'two-headers': (right, body) => [right, sign(body, OTHER_SECRET)],
    'no-prefix': (right) => [right.slice('sha256='.length)],
    sha1: (_right, body, secret) => [`sha1=${createHmac('sha1', secret).update(body).digest('hex')}`],
    short: (right) => [right.slice(0, -2)],
    long: (right) => [`${right}00`],
    'non-hex': (right) => [`${right.slice(0, -1)}g`],
  }

/** Returns the values of a body's signature header with that fault. */
export function spoilSignature(fault: SignatureFault, body: Uint8Array, secret: Secret): readonly string[] {
  return FAULTS[fault](sign(body, secret), body, secret)
}

/** Flips the lowest bit of the middle byte: text stays text, with one other character. */
export function flipBit(body: Uint8Array): Uint8Array<ArrayBuffer> {
  const flipped = new Uint8Array(body)
  const middle = flipped.length >> 1
  flipped[middle] = (flipped[middle] ?? 0) ^ 1
  return flipped
}
