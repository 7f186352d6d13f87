/** Kinds of signatures that the emulator makes, each in words. All except the first are wrong in one way. */
export const SIGNINGS = {
  valid: 'valid: signed again',
  none: 'no header',
  wrong: 'with another secret',
  'stale-bytes': 'of the bytes before the edit',
  'flip-bit': 'one bit of the body flipped after signing',
  reserialised: 'of the same JSON, serialized differently',
  'no-prefix': 'digest without sha256=',
  sha1: 'HMAC-SHA1',
  short: 'two digits short',
  long: 'two digits too long',
  'non-hex': 'a character that is not a hex digit',
  'two-headers': 'two headers, only the first one right',
} as const

export const SIGNING_OPTIONS: readonly (readonly [name: string, text: string])[] = Object.entries(SIGNINGS)

export function nameSigning(signing: string): string {
  return SIGNING_OPTIONS.find(([name]) => name === signing)?.[1] ?? signing
}
