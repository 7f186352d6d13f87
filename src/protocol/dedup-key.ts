import { createHash } from 'node:crypto'

/** Longest part of a key that stays readable. Longer ones are replaced by a digest. */
const MAX_READABLE = 128
const PRINTABLE = /^[\x21-\x7e]+$/

/**
 * The key that an event is deduplicated by: the receiver's name, the account and the event id. Neither the webhook nor the secret
 * is part of it, since a rotation or a second webhook may carry the same event.
 *
 * Each part carries its length, or is a digest of fixed length behind `#` if it is long or not printable ASCII, so that no two
 * triples meet and every key is short, printable ASCII. The digest is over UTF-16 code units: UTF-8 would merge lone surrogates.
 */
export function dedupKey(name: string, accountKey: string, id: string): string {
  return makeDedupKeys(name)(accountKey, id)
}

/** Returns a function that makes the keys of one receiver. It caches the last account, since most events follow one of the same account. */
export function makeDedupKeys(name: string): (accountKey: string, id: string) => string {
  const namePart = toPart(name)
  let lastAccount = ''
  let prefix = ''
  return (accountKey, id) => {
    if (accountKey !== lastAccount || prefix === '') {
      lastAccount = accountKey
      prefix = namePart + toPart(accountKey)
    }
    // V8 retains the parts of a concatenation: 100,000 keys in a store would take 7 MB more.
    return [prefix, toPart(id)].join('')
  }
}

/** The key of the position of a record for one handler, with the prefix of the keys of its account. Never equal to the key of an event. */
export function positionKey(
  name: string,
  accountKey: string,
  { model, id, handler }: { readonly model: string; readonly id: string; readonly handler: string },
): string {
  return `${toPart(name)}${toPart(accountKey)}@${digest([model, id, handler].map((part) => `${part.length}:${part}`).join(''))}`
}

/** The key of a lane: accounts, and receivers of two names, share none. */
export function laneKey(name: string, accountKey: string, lane: string): string {
  return [name, accountKey, lane].map(toPart).join('')
}

/** Returns whether a key is of a receiver of this name. */
export function isKeyOf(name: string, key: string): boolean {
  return key.startsWith(toPart(name))
}

/** Returns the account that a key belongs to; undefined if only its digest is in the key. */
export function accountOfKey(key: string): string | undefined {
  const part = accountPartOf(key)
  return /^\d/.test(part) ? part.slice(part.indexOf(':') + 1) : undefined
}

/** Returns the key of another event of the same receiver. */
export function siblingKey(key: string, accountKey: string, id: string): string {
  return [key.slice(0, partLength(key)), toPart(accountKey), toPart(id)].join('')
}

/** Returns the part of a key that represents its account: the same for all keys of one account. */
export function accountPartOf(key: string): string {
  const afterName = key.slice(partLength(key))
  return afterName.slice(0, partLength(afterName))
}

function toPart(text: string): string {
  if (text.length <= MAX_READABLE && PRINTABLE.test(text)) return `${text.length}:${text}`
  return `#${digest(text)}`
}

function digest(text: string): string {
  return createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('base64url')
}

const DIGEST_LENGTH = 43

function partLength(key: string): number {
  if (key.startsWith('#')) return 1 + DIGEST_LENGTH
  const colon = key.indexOf(':')
  return colon + 1 + Number(key.slice(0, colon))
}
