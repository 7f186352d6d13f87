import { OptionChecker } from '../engine.ts'

/** Option of a sender that does not sign the id of an event. */
export interface OnceOptions {
  /**
   * Identity of an event. `id`, the default, is the id of the sender: a recorded delivery that comes again under another id runs again.
   * `body` is the digest of the exact bytes: no repetition runs, but of two events with the same bytes only one does.
   */
  readonly once?: 'id' | 'body' | undefined
}

/**
 * Returns the option `once`.
 *
 * @param maker the name of the function that takes it
 * @throws ConfigurationError `option_unknown`, `option_invalid`
 */
export function readOnce(maker: string, options: OnceOptions): 'id' | 'body' {
  const check = new OptionChecker(maker)
  check.mustBeObject(options, `${maker}({ once: 'body' })`)
  check.mustHaveOnly(options, ['once'])
  const { once = 'id' } = options
  if (once !== 'id' && once !== 'body') throw check.invalid(`once is "${once}"; give 'id' or 'body'.`)
  return once
}
