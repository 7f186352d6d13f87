import { randomBytes } from 'node:crypto'

/**
 * Returns a function that makes the tokens of claims. They start with a prefix that no other store of any process has, so that a counter is
 * enough behind it.
 */
export function makeTokens(): () => string {
  const self = randomBytes(12).toString('base64url')
  let count = 0
  return () => `${self}.${(count++).toString(36)}`
}
