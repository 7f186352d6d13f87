import * as z from 'zod'
import { isBytes } from '../../src/protocol/is-bytes.ts'
import { SIGNINGS } from '../wire/signings.ts'
import type { Account } from './accounts.ts'
import type { Signing } from './delivery.ts'
import { Refusal } from './refusal.ts'

/** Fields of a registration, section 2.3 of the service text. Others are ignored (A07). */
export const webhookFields = {
  url: z.string(),
  events: z.array(z.string().min(1).max(256)).max(200),
  description: z.string().max(1_000).optional(),
  active: z.boolean().optional(),
}
export const webhookShape = z.object(webhookFields)
export const webhookChangeShape = z.object(webhookFields).partial()

export const eventFields = {
  type: z.string().min(1).max(256),
  data: z.unknown().optional(),
  id: z.string().min(1).max(1_024).optional(),
  timestamp: z.string().max(100).optional(),
}
export const eventShape = z.object(eventFields)

export const account: z.ZodType<Account> = z.strictObject({
  key: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/, 'must be letters, digits, "-" and "_"'),
  email: z.string().min(1).max(320),
  password: z.string().min(1).max(1_000),
})

export const signingShape = z.enum(Object.keys(SIGNINGS) as Signing[]).optional() // its own keys
export const resendShape = z.strictObject({
  body: z
    .custom<string | Uint8Array>((body) => typeof body === 'string' || isBytes(body), 'must be text or bytes')
    .optional(),
  sign: signingShape,
})

/** Returns a value of that shape. Refuses any other value, and names each problem. */
export function checkInput<T>(value: unknown, shape: z.ZodType<T>): T {
  const checked = shape.safeParse(value)
  if (checked.success) return checked.data
  throw new Refusal('invalid', ...tellIssues(checked.error))
}

/** Describes each issue, with the path of its field if it has one. */
export function tellIssues({ issues }: z.ZodError): readonly string[] {
  return issues.map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
}

/** Serializes JSON, and refuses a value that JSON cannot hold, such as a bigint. */
export function writeAsJson<T>(write: () => T): T {
  try {
    return write()
  } catch (error) {
    throw new Refusal('invalid', `cannot be written as JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}
