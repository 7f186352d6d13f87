import { isLoopback } from './loopback.ts'

/** Returns true for a URL whose host is that of a variable that is not set. */
export function isUnset({ hostname }: Pick<URL, 'hostname'>): boolean {
  return hostname === 'undefined' || hostname === 'null'
}

/**
 * Returns the URL that was probably meant by a text without a scheme, such as `localhost:3000`, or with a misspelt one; undefined if
 * there is none, or if the text holds a user name.
 */
export function findWholeUrl(text: unknown): string | undefined {
  const [, scheme = '', rest = ''] = /^\s*(h?t{1,2}ps?:?\/+|\/\/|(?=:\d))?([^\s/@][^\s@]*)$/i.exec(String(text)) ?? []
  const host = rest.startsWith(':') ? `localhost${rest}` : rest
  if (!URL.canParse(`http://${host}`)) return undefined
  const url = new URL(`http://${host}`)
  if (isUnset(url)) return undefined
  const isNamed = /\.[a-z]/i.test(url.hostname)
  const hasPort = /^[^/]*:\d/.test(host)
  if (!isLoopback(url) && !isNamed && !hasPort) return undefined
  const isPublic = isNamed && !hasPort && !isLoopback(url)
  const isSafe = /ps/i.test(scheme) || (isPublic && !/p/i.test(scheme))
  return `${isSafe ? 'https' : 'http'}:${url.href.replace(/^http:/, '')}`
}
