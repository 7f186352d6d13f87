import type { Outcome } from '../index.ts'

const CLASS_NAME = /^[A-Za-z_$][\w$]{0,63}$/
/** Value of `error.type` in the conventions for an error without a name. */
const OTHER = '_OTHER'

/** Returns the code or the name of an outcome: one of a few dozen values. */
export function codeOf(outcome: Outcome): string {
  return 'code' in outcome ? outcome.code : outcome.outcome
}

/**
 * Returns the class of the value that a handler threw. Never its message or its `name`, which may hold any text of the app. A handler
 * can throw any value, even one whose properties throw when they are read.
 */
export function classOf(thrown: unknown): string {
  try {
    const name: unknown = (Object.getPrototypeOf(thrown) as { readonly constructor?: { readonly name?: unknown } })
      ?.constructor?.name
    return thrown instanceof Error && typeof name === 'string' && CLASS_NAME.test(name) ? name : OTHER
  } catch {
    return OTHER
  }
}
