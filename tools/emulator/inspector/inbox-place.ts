import { isLoopback } from '../../../src/protocol/loopback.ts'

/** Place of an inbox: the options with which `postern inbox` opens it, such as `['--sqlite', '/data/app.db']`. */
type Place = readonly string[]

/** Writes a place as the option `--inbox` takes it. */
export function writePlace([engine, address = '', ...details]: Place): string {
  const query = new URLSearchParams()
  for (let at = 0; at < details.length; at += 2) query.set(details[at]?.slice(2) ?? '', details[at + 1] ?? '')
  const url = engine === '--sqlite' ? `sqlite:${address}` : address
  return query.size === 0 ? url : `${url}${url.includes('?') ? '&' : '?'}${query}`
}

/** Compares two places. Returns undefined if they may be the same: one of them is not known exactly. */
export function isSamePlace(one: Place, other: Place): boolean | undefined {
  if ([...one, ...other].some((word) => word.includes('…'))) return undefined
  if (one.includes('--schema') !== other.includes('--schema') && one[0] === other[0]) return undefined
  return normalise(one) === normalise(other)
}

/** A server has several names on its own machine, and takes several users. */
function normalise([engine, address = '', ...details]: Place): string {
  const more = [engine, ...details].join(' ')
  if (engine === '--sqlite' || !URL.canParse(address)) return `${more} ${address}`
  const url = new URL(address)
  const host = isLoopback(url) ? 'localhost' : url.hostname
  const port = url.port || (engine === '--redis' ? '6379' : '5432')
  return [more, host, port, url.searchParams.get('host'), url.pathname.replace(/^\/0?$/, '')].join(' ')
}
