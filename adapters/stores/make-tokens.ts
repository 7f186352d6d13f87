import { randomBytes } from 'node:crypto'

/** Makes what makes the tokens of a store's claims. No other store of any process gives the same, so that a count is enough behind it. */
export function makeTokens(): () => string {
  const self = randomBytes(12).toString('base64url')
  let count = 0
  return () => `${self}.${(count++).toString(36)}`
}
