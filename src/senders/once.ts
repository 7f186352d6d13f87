import { type Kind, OptionChecker, oneOf } from '../engine.ts'

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
 * @param others the kinds of its other options
 * @throws ConfigurationError `option_unknown`, `option_invalid`
 */
export function readOnce(
  maker: string,
  options: OnceOptions,
  others: Readonly<Record<string, Kind>> = {},
): 'id' | 'body' {
  new OptionChecker(maker).mustFit(options, { once: oneOf(['id', 'body']), ...others })
  return options.once ?? 'id'
}
