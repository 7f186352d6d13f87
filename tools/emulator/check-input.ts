import * as z from 'zod'
import { isBytes } from '../../src/protocol/is-bytes.ts'
import { oneOf, tellKnown } from '../../src/protocol/option-checker.ts'
import { isThenable } from '../../src/protocol/promises.ts'
import { show } from '../../src/protocol/show.ts'
import { parseDuration } from '../wire/parse-duration.ts'
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

/** Schema of a duration, whose value is in milliseconds. */
export const duration = z.custom<number | string>().transform((value, context) => {
  try {
    return parseDuration(value)
  } catch (error) {
    context.addIssue(error instanceof Error ? error.message : String(error))
    return z.NEVER
  }
})

/**
 * Returns a value of that shape. Refuses any other value, and names each problem.
 *
 * @param place the method and its argument, for the messages
 */
export function checkInput<T>(value: unknown, shape: z.ZodType<T>, place?: string): T {
  if (isThenable(value)) throw new Refusal('invalid', `${place ?? 'the value'} is a promise: await it`)
  const checked = shape.safeParse(value, { error: tellMust })
  if (checked.success) return checked.data
  const lines = tellIssues(checked.error, shape)
  throw new Refusal('invalid', ...(place === undefined ? lines : lines.map((line) => `${place}: ${line}`)))
}

/** Describes each issue, with the path of its field if it has one: fields that are not known, with the nearest one, before the others. */
export function tellIssues(error: z.ZodError, shape: z.ZodType): readonly string[] {
  const isStray = ({ code }: z.core.$ZodIssue) => code === 'unrecognized_keys'
  const issues = error.issues.flatMap(findMeant)
  return [...issues.filter(isStray), ...issues.filter((issue) => !isStray(issue))].map((issue) => {
    const [stray = ''] = issue.code === 'unrecognized_keys' ? issue.keys : []
    const text =
      stray === '' ? issue.message : `there is no "${stray}". ${tellKnown(stray, namesAt(shape, issue.path))}`
    return issue.path.length > 0 ? `${issue.path.join('.')}: ${text}` : text
  })
}

/** Returns what is wrong with the object that was probably meant, for a union of objects: a field that none of them has, or the fewest issues. */
function findMeant(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const listStrays = (issues: readonly z.core.$ZodIssue[] = []) =>
    issues.flatMap((each) => (each.code === 'unrecognized_keys' ? each.keys : []))
  const [least, ...others] = issue.errors
    .filter((issues) => issues.every(({ code, path }) => code === 'unrecognized_keys' || path.length > 0))
    .toSorted((one, other) => one.length - other.length)
  const [stray] = listStrays(least).filter((name) => others.every((each) => listStrays(each).includes(name)))
  if (stray !== undefined) return [{ code: 'unrecognized_keys', keys: [stray], path: issue.path, message: '' }]
  if (least === undefined || least.length === others[0]?.length) return [issue]
  return least.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }))
}

/** Parameter of a shape whose values are no others: its message says what a value must be, and what it is. */
export const must = (told: string) => ({ error: ({ input }: { readonly input: unknown }) => tellWrong(told, input) })

/** Number of characters of a value to show. */
const MAX_SHOWN = 100

const tellWrong = (told: string, input: unknown) => `must be ${told}, not ${show(input).slice(0, MAX_SHOWN)}`

/** Returns the message of an issue whose shape has none. */
export const tellMust: z.core.$ZodErrorMap = (issue) => {
  const told = expectationOf(issue)
  const isSecret = issue.path?.at(-1) === 'password' || issue.path?.at(-1) === 'secret'
  return isSecret ? `must be ${told}` : tellWrong(told, issue.input)
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  tuple: 'a list',
}

function expectationOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type': {
      const told = TYPES[issue.expected] ?? issue.expected
      const isUrl = issue.expected === 'string' && typeof Object(issue.input).href === 'string'
      return isUrl ? `${told}: its href` : told
    }
    case 'invalid_value': {
      const [alike = issue.values.length === 1 ? issue.values[0] : undefined] = issue.values.filter(
        (value) => String(value) === String(issue.input),
      )
      return alike === undefined ? (oneOf(issue.values.map(String))(issue.input) ?? '') : show(alike)
    }
    case 'too_small':
      return issue.origin === 'string' ? 'a string that is not empty' : `${issue.minimum} or more`
    case 'too_big':
      return issue.origin === 'number' || issue.origin === 'int'
        ? `${issue.maximum} or less`
        : `of ${issue.maximum} ${issue.origin === 'string' ? 'characters' : 'entries'} at most`
    default:
      return 'another value'
  }
}

/** Returns the names of all fields of the object, or of those of a union, at a path of a shape. */
export function namesAt(shape: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  let at = unwrap(shape)
  for (const name of path)
    at = at.flatMap((each) =>
      unwrap(
        each instanceof z.ZodObject ? each.shape[String(name)] : each instanceof z.ZodArray ? each.element : undefined,
      ),
    )
  return [...new Set(at.flatMap((each) => (each instanceof z.ZodObject ? Object.keys(each.shape) : [])))]
}

/** Returns the schemas inside those that make one optional, transform it, or are a union. */
function unwrap(shape: z.core.$ZodType | undefined): readonly z.core.$ZodType[] {
  if (shape instanceof z.ZodUnion) return shape.options.flatMap(unwrap)
  if (shape instanceof z.ZodPipe) return unwrap(shape.def.in)
  if (shape instanceof z.ZodOptional || shape instanceof z.ZodDefault || shape instanceof z.ZodPrefault)
    return unwrap(shape.def.innerType)
  return shape === undefined ? [] : [shape]
}

/** Serializes JSON, and refuses a value that JSON cannot hold, such as a bigint. */
export function writeAsJson<T>(write: () => T): T {
  try {
    return write()
  } catch (error) {
    throw new Refusal('invalid', `cannot be written as JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}
