import type { Context } from 'hono'
import type * as z from 'zod'
import { checkInput } from '../check-input.ts'
import { Refusal } from '../refusal.ts'

/** Maximum depth of JSON: deeper JSON can be parsed, but overflows the stack when it is serialized. */
const MAX_DEPTH = 200

/** Reads the body as an object of that shape. */
export async function readJson<T>(context: Context, shape: z.ZodType<T>): Promise<T> {
  return checkInput(await readObject(context), shape)
}

/** Reads the body as an object of any shape. */
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
  if (isTooDeep(text)) throw new Refusal('bad-json', `the body is nested more than ${MAX_DEPTH} deep`)
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal('bad-json', 'the body is not JSON')
  }
}

/** Reads each character once: a crafted body could make a regular expression slow. */
function isTooDeep(text: string): boolean {
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '\\') at++
    else if (character === '"') isInString = !isInString
    else if (isInString) continue
    else if (character === '[' || character === '{') depth++
    else if (character === ']' || character === '}') depth--
    if (depth > MAX_DEPTH) return true
  }
  return false
}
