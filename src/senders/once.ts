import { OptionChecker } from '../engine.ts'

/** Option of a sender that does not sign the id of an event. */
export interface OnceOptions {
  /**
   * Identity of an event. `id`, the default, is the id of the sender: a recorded delivery that comes again under another id runs again.
   * `body` is the digest of the exact bytes: no repetition runs, but of two events with the same bytes only one does. The shop that Shopify
   * names is not signed either: under the name of another shop, a repetition runs unless the secret is bound to one.
   */
  readonly once?: 'id' | 'body' | undefined
}

/**
 * Returns the option `once`.
 *
 * @param maker the name of the function that takes it
 * @param others the names of its other options
 * @throws ConfigurationError `option_unknown`, `option_invalid`
 */
export function readOnce(maker: string, options: OnceOptions, others: readonly string[] = []): 'id' | 'body' {
  const check = new OptionChecker(maker)
  check.mustBeObject(options, `${maker}({ once: 'body' })`)
  check.mustHaveOnly(options, ['once', ...others])
  const { once = 'id' } = options
  if (once !== 'id' && once !== 'body') throw check.invalid(`once is "${once}"; give 'id' or 'body'.`)
  return once
}
