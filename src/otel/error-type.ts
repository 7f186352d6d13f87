import type { Outcome } from '../index.ts'

const CLASS_NAME = /^[A-Za-z_$][\w$]{0,63}$/
/** The word of the conventions for what has no name. */
const OTHER = '_OTHER'

/** Returns the code or the name of an outcome: one of a few dozen. */
export function codeOf(outcome: Outcome): string {
  return 'code' in outcome ? outcome.code : outcome.outcome
}

/**
 * Returns the class of what a handler threw. Neither its message nor its `name`, which is text that the app may have put anything into.
 * Anything can be thrown, also something that cannot be looked at.
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
