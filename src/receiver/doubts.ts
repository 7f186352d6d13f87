import { findOtherSender } from '../protocol/other-senders.ts'

interface Given {
  readonly secret: unknown
  readonly signatureHeader?: string | undefined
  readonly handlerTimeoutMs?: number | undefined
}

/** Texts that examples have in the place of a secret. */
const PLACEHOLDER = /^(whsec_)?(x{3,}|(replace|change)[-_ ]?(me|this|it)|your[-_ ].*|placeholder|todo)$/i

/** Returns warnings of what is probably, and not certainly, a mistake. */
export function findDoubts({ secret, signatureHeader, handlerTimeoutMs }: Given, isHasty: boolean): readonly string[] {
  const doubts = [
    isHasty && `handlerTimeoutMs is ${handlerTimeoutMs}, less than a second: multiply seconds by 1_000.`,
    typeof secret === 'string' && PLACEHOLDER.test(secret) && 'The secret is a placeholder, which anyone can guess.',
    findOtherSender((header) => header === signatureHeader?.toLowerCase()),
  ]
  return doubts.filter((doubt) => typeof doubt === 'string')
}
