import type { Context } from 'hono'
import type * as z from 'zod'
import { checkInput } from '../check-input.ts'
import { Refusal } from '../refusal.ts'

export async function readJson<T>(context: Context, shape: z.ZodType<T>): Promise<T> {
  return checkInput(await readObject(context), shape)
}

export async function readObject(context: Context): Promise<Readonly<Record<string, unknown>>> {
  if (!/^application\/json\s*(;|$)/i.test(context.req.header('content-type') ?? ''))
    throw new Refusal('media-type', 'send JSON with Content-Type: application/json')
  const value = parse(await readText(context))
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Refusal('invalid', 'the body must be a JSON object')
  return value as Readonly<Record<string, unknown>> // checked above: an object, and not an array
}

async function readText(context: Context): Promise<string> {
  try {
    return await context.req.text()
  } catch {
    throw new Refusal('bad-request', 'the body is incomplete')
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal('bad-json', 'the body is not JSON')
  }
}
