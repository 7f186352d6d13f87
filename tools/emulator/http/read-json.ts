import type { Context } from 'hono'
import type * as z from 'zod'
import { parseJson } from '../../../src/protocol/parse-json.ts'
import { checkInput } from '../check-input.ts'
import { LIMITS } from '../limits.ts'
import { Refusal } from '../refusal.ts'

/** Limit of a JSON text that has the body of an event in a field: as base64, or with each byte escaped. */
export const ENVELOPE_BYTES = 6 * LIMITS.bodyBytes + 64 * 1_024

/** @param mostBytes limit of the JSON text */
export async function readJson<T>(context: Context, shape: z.ZodType<T>, mostBytes?: number): Promise<T> {
  return checkInput(await readObject(context, mostBytes), shape)
}

export async function readObject(
  context: Context,
  mostBytes: number = LIMITS.bodyBytes,
): Promise<Readonly<Record<string, unknown>>> {
  const isDeletion = context.req.method === 'DELETE'
  if (!isDeletion && !/^application\/json\s*(;|$)/i.test(context.req.header('content-type') ?? ''))
    throw new Refusal('media-type', 'send JSON with Content-Type: application/json')
  const text = await readText(context, mostBytes)
  const value = isDeletion && text === '' ? {} : parseJson(text)
  if (value === undefined) throw new Refusal('bad-json', 'the body is not JSON')
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Refusal('invalid', 'the body must be a JSON object')
  return value as Readonly<Record<string, unknown>> // checked above: an object, and not an array
}

/** Refuses the body of an event that the service would not send. */
export function mustBeBody(bytes: Uint8Array | string): void {
  if (Buffer.byteLength(bytes) > LIMITS.bodyBytes)
    throw new Refusal('too-large', `the body of an event has ${LIMITS.bodyBytes} bytes at most`)
}

/** Refuses a body that is too large, by its declared length or while reading it. */
async function readText({ req }: Context, mostBytes: number): Promise<string> {
  const mustFit = (size: number) => {
    if (size > mostBytes) throw new Refusal('too-large', `a body has ${mostBytes} bytes at most`)
  }
  mustFit(Number(req.header('content-length') ?? 0))
  const parts: Uint8Array[] = []
  let size = 0
  try {
    // Node would cut the connection of a cancelled body before the answer.
    for await (const part of req.raw.body?.values({ preventCancel: true }) ?? []) {
      size += part.length
      mustFit(size)
      parts.push(part)
    }
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal('bad-request', 'the body is incomplete')
  }
  return new TextDecoder().decode(Buffer.concat(parts))
}
