import { isUtf8 } from 'node:buffer'
import { quoteForShell } from '../../src/protocol/show.ts'
import { SIGNATURE_NAME } from '../../src/protocol/signature-name.ts'
import type { Maker, TestDelivery } from './case.ts'
import type { GroupedCase } from './cases.ts'
import { PLAIN_TYPE } from './maker.ts'

const MAX_BODY_BYTES = 2_000

/**
 * Writes a POSIX shell command that sends the same delivery. `postern sign` makes the signature, so that the command holds neither a
 * secret nor a digest. Undefined if no single command can send it.
 */
export function toCurl(target: string, delivery: TestDelivery): string | undefined {
  const { method, body, contentType, toParts, isChunked, signatureName, signatures, isSigned } = delivery
  if (method === 'GET') return `curl -i ${quoteForShell(target)}`
  const written = Buffer.from(body).toString()
  const isText = isUtf8(body) && !/[^\P{Cc}\n]/u.test(written)
  const isPlain = isText && body.length > 0 && body.length <= MAX_BODY_BYTES
  const isUnsigned = signatures.length === 0
  if (!isPlain || toParts !== undefined || isChunked || !(isSigned || isUnsigned)) return undefined
  const text = quoteForShell(written)
  const header = isUnsigned ? '' : ` -H "${signatureName}: $(printf %s ${text} | npx postern sign)"`
  const type = quoteForShell(`Content-Type: ${contentType}`)
  return `curl -i ${quoteForShell(target)} -H ${type}${header} --data-binary ${text}`
}

/** Writes the command that runs a check alone. */
export function toCommand(target: string, { id, group }: GroupedCase, { signatureHeader, plainType }: Maker): string {
  const header = signatureHeader === SIGNATURE_NAME ? '' : ` --signature-header ${signatureHeader}`
  const type = plainType === PLAIN_TYPE ? '' : ` --type ${quoteForShell(plainType)}`
  const probe = group === 'effect' ? ' --probe URL' : ''
  return `npx postern check ${quoteForShell(target)} --only ${id}${header}${type}${probe}`
}
