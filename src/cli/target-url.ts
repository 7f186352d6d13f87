import { isLoopback } from '../wire/target.ts'
import { EXIT, ExitError } from './io.ts'

/**
 * A URL that events may be sent to.
 *
 * @param option how the command line calls it
 * @param allowRemote also to a host that is not this machine
 */
export function readTargetUrl(text: string, option: string, allowRemote: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new ExitError(EXIT.usage, `${option} ${text} is not a URL; write it whole: http://localhost:3000/webhooks`)
  if (!allowRemote && !isLoopback(url))
    throw new ExitError(
      EXIT.usage,
      `${url.hostname} is not this machine, and the events look real. If that is meant, add --yes.`,
    )
  return url
}
