import type { ErrorCode } from '../protocol/errors.ts'
import { EXIT } from './io.ts'

/** What each code of an error ends a command with. All others are about what was written on the command line. */
const EXIT_CODES: { readonly [code in ErrorCode]?: number } = {
  port_in_use: EXIT.unreachable,
  database_unusable: EXIT.unreachable,
  driver_missing: EXIT.unreachable,
  service_unreachable: EXIT.unreachable,
  service_failed: EXIT.unreachable,
  redirect_refused: EXIT.unreachable,
  login_refused: EXIT.refused,
  token_refused: EXIT.refused,
  rate_limited: EXIT.gaveUp,
  not_found: EXIT.failed,
  not_retriable: EXIT.failed,
  request_refused: EXIT.failed,
  answer_unusable: EXIT.failed,
  outcome_unknown: EXIT.failed,
}

/** The exit code for a `PosternError`. */
export function exitCodeFor(code: ErrorCode): number {
  return EXIT_CODES[code] ?? EXIT.usage
}
