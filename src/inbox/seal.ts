import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import type { OptionChecker } from '../protocol/option-checker.ts'

/** A key: 32 bytes, and its name, which each sealed body carries. */
export type SealKey = {
  readonly id: string
  readonly bytes: Uint8Array
}

/** The keys of an app, as functions of the account. A rejection puts events off, and refuses new ones. */
export type SealKeys = {
  /** Returns the key that seals what is put in. */
  current(accountKey: string): SealKey | Promise<SealKey>
  /** Returns a key by its name; `erased` if it was destroyed on purpose; undefined if this process does not know it. */
  find(id: string, accountKey: string): SealKey | 'erased' | undefined | Promise<SealKey | 'erased' | undefined>
}

/** The first bytes of what is sealed. A body is JSON, which never begins with a zero. */
const MAGIC = Buffer.from([0x00, 0x50, 0x53, 0x01])
const SALT = 16
const NONCE = 12
const TAG = 16
const KEY = 32
const NAME = /^[\w.-]{1,64}$/

/** Encrypts bytes: magic, length of the key's name, name, salt, nonce, ciphertext, tag. They open only at the same place. */
export function sealBytes(bytes: Uint8Array, key: SealKey, place: string): Buffer {
  mustBeKey(key)
  const id = Buffer.from(key.id)
  const [salt, nonce] = [randomBytes(SALT), randomBytes(NONCE)]
  const head = Buffer.concat([MAGIC, Buffer.from([id.length]), id, salt, nonce])
  const cipher = createCipheriv('aes-256-gcm', derive(key, salt), nonce).setAAD(toContext(head, place))
  return Buffer.concat([head, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
}

/** @throws Error if the bytes were changed, or sealed with another key or at another place */
export function openBytes(sealed: Uint8Array, key: SealKey, place: string): Uint8Array {
  mustBeKey(key)
  const from = MAGIC.length + 1 + (sealed[MAGIC.length] ?? 0)
  const start = from + SALT + NONCE
  const [salt, nonce] = [sealed.subarray(from, from + SALT), sealed.subarray(from + SALT, start)]
  const decipher = createDecipheriv('aes-256-gcm', derive(key, salt), nonce, { authTagLength: TAG })
  decipher.setAAD(toContext(sealed.subarray(0, start), place)).setAuthTag(sealed.subarray(-TAG))
  return Buffer.concat([decipher.update(sealed.subarray(start, -TAG)), decipher.final()])
}

/** Returns the name of the key; undefined for what is not sealed. */
export function keyIdOf(bytes: Uint8Array): string | undefined {
  if (!MAGIC.every((byte, index) => bytes[index] === byte)) return undefined
  const from = MAGIC.length + 1
  return Buffer.from(bytes.subarray(from, from + (bytes[MAGIC.length] ?? 0))).toString()
}

/** Derives the key of one body: random nonces of one key may repeat after 2^32 bodies. */
function derive({ bytes }: SealKey, salt: Uint8Array): Buffer {
  return createHmac('sha256', bytes).update(salt).digest()
}

function toContext(head: Uint8Array, place: string): Buffer {
  return Buffer.concat([head, Buffer.from(place)])
}

/** The message does not contain the key. */
function mustBeKey({ id, bytes }: SealKey): void {
  if (!NAME.test(id) || !ArrayBuffer.isView(bytes) || bytes.byteLength !== KEY)
    throw new TypeError(
      'A key of sealedInbox is { id, bytes }: a name of letters, digits, dots and hyphens, and 32 bytes.',
    )
}

/**
 * Reads keys from text such as `2026-11:base64,2026-10:base64`: the first one seals, all open.
 *
 * @throws ConfigurationError `option_invalid`, without the text
 */
export function readKeys(text: string, check: OptionChecker): SealKeys {
  const keys = new Map<string, SealKey>()
  for (const part of text.split(',').map((each) => each.trim())) {
    const [id = '', base64 = ''] = part.split(/:(.*)/s)
    const bytes = Buffer.from(base64, 'base64')
    const isWhole = bytes.length === KEY && bytes.toString('base64').replace('=', '') === base64.replace('=', '')
    if (!NAME.test(id) || !isWhole || keys.has(id)) throw check.invalid(WRONG)
    keys.set(id, { id, bytes })
  }
  const [current] = keys.values()
  if (current === undefined) throw check.invalid(WRONG)
  return { current: () => current, find: (id) => keys.get(id) }
}

const WRONG =
  'keys is not a list of keys: give name:key with commas, such as 2026-11:…,2026-10:…, with a different name for each, and 32 bytes in base64, as `openssl rand -base64 32` prints.'
