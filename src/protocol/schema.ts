import { isPlain } from './copy-plain.ts'
import { OptionChecker } from './option-checker.ts'
import { ignoreRejection, isThenable } from './promises.ts'

/** The part of Standard Schema (standardschema.dev, version 1) that the receiver uses, so that the core knows no library of schemas. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

/** Issue that a schema found, by the contract of Standard Schema. */
type SchemaIssue = {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The output of a schema, which handlers see. */
export type SchemaOutput<S> = S extends StandardSchema<unknown, infer Output> ? Output : unknown

/** One thing that a schema, or the service's own rules, found wrong. `path` is dotted, and empty for the whole. */
export interface Issue {
  readonly path: string
  readonly message: string
}

const passThrough = (value: unknown) => ({ value })

/**
 * A schema in types only: nothing is checked at run time beyond what every model event needs (a record with a string `_id`).
 *
 * @throws ConfigurationError `option_invalid` if it is given a schema, by which nothing would be checked
 * @example createReceiver({ secret, models: { invoice: record<Invoice>() } })
 */
export function record<T>(): StandardSchema<T>
export function record<T>(...given: readonly unknown[]): StandardSchema<T> {
  if (given.length > 0)
    throw new OptionChecker('record').invalid(
      'it takes nothing, and checks nothing: give the schema itself as the model.',
    )
  // The cast is the point of the function: the caller vouches for T, and nothing looks at the value.
  return { '~standard': { version: 1, vendor: 'postern', validate: passThrough as (value: unknown) => { value: T } } }
}

/** Returns true if a schema accepts everything, so that the receiver can skip it. */
export function isTypeOnly(schema: StandardSchema): boolean {
  return schema['~standard'].validate === passThrough
}

/** The result of a check: the schema's output, its issues, or what it threw instead. */
export type CheckedData =
  | { readonly value: unknown }
  | { readonly issues: readonly Issue[] }
  | { readonly thrown: unknown }

/** Applies a schema. Never throws or rejects, and returns a promise only if the schema does. */
export function checkData(schema: StandardSchema, value: unknown): CheckedData | Promise<CheckedData> {
  try {
    const result = schema['~standard'].validate(value)
    return isThenable(result) ? awaitChecked(result) : toChecked(result)
  } catch (thrown) {
    return { thrown }
  }
}

async function awaitChecked(result: PromiseLike<SchemaResult<unknown>>): Promise<CheckedData> {
  try {
    return toChecked(await result)
  } catch (thrown) {
    return { thrown }
  }
}

function toChecked(result: SchemaResult<unknown>): CheckedData {
  if (result.issues) return { issues: result.issues.map(toIssue) }
  // A success may have `issues: undefined`, and callers test for the field.
  if (!('value' in result)) throw new TypeError('The schema returned neither a value nor issues.')
  refusePromises(result.value)
  return { value: result.value }
}

/** Throws if an output contains promises: an asynchronous transform in a synchronous schema leaves them, and nobody would await them. */
function refusePromises(output: unknown): void {
  const paths = new Map<unknown, string>([[output, '']])
  let found: string | undefined
  // Iterating over a Map also visits what is added meanwhile.
  for (const [value, path] of paths)
    if (isPlain(value)) {
      for (const [key, field] of Object.entries(value))
        if (typeof field === 'object' && !paths.has(field)) paths.set(field, `${path}.${key}`)
    } else if (isThenable(value)) {
      ignoreRejection(value)
      found ??= path
    }
  if (found !== undefined)
    throw new TypeError(
      `The output of the schema has a promise at ${found.slice(1) || 'its root'}, which nobody awaits: use the library's asynchronous schemas.`,
    )
}

function toIssue(issue: SchemaIssue): Issue {
  const keys = (issue.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part))
  return { path: keys.join('.'), message: issue.message }
}
