import { isRedirect } from '../../src/protocol/redirect.ts'
import { SERVICE_DEADLINE_MS } from '../../src/protocol/schedule.ts'
import { SIGNATURE_NAME } from '../../src/protocol/signature-name.ts'
import { showTarget } from './target.ts'

/**
 * Returns advice on a delivery that was not acknowledged; undefined if its result has no usual cause.
 *
 * @param result the status of the answer, or the kind of the failure: `refused`, `reset`, `dns`, `tls`, `timeout`
 */
export function findHint(
  result: string,
  target: URL,
  deadlineMs: number = SERVICE_DEADLINE_MS,
  signatureHeader: string = SIGNATURE_NAME,
): string | undefined {
  const url = showTarget(target)
  if (isRedirect(Number(result)))
    return `${result}: the service does not follow redirects; use the URL that answers directly.`
  const hints: Readonly<Record<string, string>> = {
    '401': `401: the signature in ${signatureHeader} was not accepted. Does the receiver read that header, does it have the same secret, and was it started after that was set? Does no body parser run before it?`,
    '404': `404: the receiver has no such path, or not for POST. Is it the one in ${url}?`,
    '405': `405: that path does not take POST. Is it the one in ${url}?`,
    '413': '413: the body is larger than a proxy, or a parser before the receiver, accepts.',
    '429': '429: the receiver, or something in front of it, limits requests, and had no room for this one in time.',
    '415': '415: something before the receiver refuses the content type or encoding.',
    refused: `refused: nothing listens at ${url}. Is your app running, and on that port?`,
    reset: `reset: the receiver cut the connection without an answer. Did it crash? Its console may say.${target.protocol === 'http:' ? ' If it speaks TLS, its URL begins with https.' : ''}`,
    dns: `dns: the host of ${url} has no address.`,
    tls: `tls: no connection by TLS to ${url}. Has its certificate expired, is it for another name, or self-signed (NODE_EXTRA_CA_CERTS=FILE accepts your own)? Does it require a certificate of its clients? Or is it http?`,
    timeout: `timeout: no answer within ${deadlineMs / 1_000} s, the limit of the service. Acknowledge first, or do less before the answer.`,
  }
  return Object.hasOwn(hints, result) ? hints[result] : undefined
}
