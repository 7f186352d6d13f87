import { isUtf8 } from 'node:buffer'
import { quoteForShell } from '../protocol/show.ts'
import type { TestDelivery } from './case.ts'
import type { GroupedCase } from './cases.ts'

const MAX_BODY_BYTES = 2_000

/**
 * Writes a POSIX shell command that sends the same delivery. `postern sign` makes the signature, so that the command holds neither a
 * secret nor a digest. Undefined if no single command can send it.
 */
export function toCurl(target: string, delivery: TestDelivery): string | undefined {
  const { method, body, contentType, pieceSize, isChunked } = delivery
  if (method === 'GET') return `curl -i ${quoteForShell(target)}`
  const written = Buffer.from(body).toString()
  const isText = isUtf8(body) && !/[^\P{Cc}\n]/u.test(written)
  const isPlain = isText && body.length > 0 && body.length <= MAX_BODY_BYTES
  if (!isPlain || pieceSize !== undefined || isChunked) return undefined
  const text = quoteForShell(written)
  const header = toHeader(delivery, text)
  if (header === undefined) return undefined
  const parts = [`curl -i ${quoteForShell(target)}`, `-H ${quoteForShell(`Content-Type: ${contentType}`)}`, header]
  return `${parts.filter(Boolean).join(' ')} --data-binary ${text}`
}

function toHeader({ signatureName, signatures, pipe }: TestDelivery, text: string): string | undefined {
  if (signatures.length === 0) return ''
  if (signatures.length === 1 && signatures[0] === '') return `-H '${signatureName};'`
  if (pipe === undefined) return undefined
  return `-H "${signatureName}: $(printf %s ${text} | npx postern sign${pipe})"`
}

/** Writes the command that runs one check alone. */
export function toCommand(target: string, { id, group }: GroupedCase): string {
  return `npx postern check ${quoteForShell(target)} --only ${id}${group === 'effect' ? ' --probe URL' : ''}`
}
