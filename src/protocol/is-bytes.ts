import { types } from 'node:util'

/** Returns true for a Uint8Array or Buffer. `instanceof` fails for one of another realm, such as every Buffer under jsdom. */
export function isBytes(value: unknown): value is Uint8Array {
  return types.isUint8Array(value)
}

/** Returns how bytes in another form are given; otherwise an empty text. */
export function tellBytes(value: unknown, name: string): string {
  return types.isAnyArrayBuffer(value) ? `: of an ArrayBuffer, new Uint8Array(${name})` : ''
}
