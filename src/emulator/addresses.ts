import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { BlockList, isIP } from 'node:net'
import type { Assumed } from './assumptions.ts'

/** Rule for the URLs of webhooks (A30). */
export type UrlRule = Assumed['urlRule']

/** Kind of network of an address. Nothing is ever sent to a `forbidden` one: link-local, or the metadata service of a cloud. */
type Place = 'loopback' | 'public' | 'private' | 'forbidden'

const MAX_URL_LENGTH = 2_048

/** Describes the problem of a webhook URL; undefined if it is allowed. */
export function findUrlProblem(text: string, rule: UrlRule): string | undefined {
  if (text.length > MAX_URL_LENGTH) return `is longer than ${MAX_URL_LENGTH} characters`
  if (!URL.canParse(text)) return 'is not an absolute URL'
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https://'
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password'
  return findHostProblem(url, rule)
}

/** Describes the problem of the host; undefined if it is allowed. Checks the name here, and its addresses when connecting. */
export function findHostProblem(url: URL, rule: UrlRule): string | undefined {
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const place = isIP(host) !== 0 ? placeOf(host) : /(^|\.)localhost$/i.test(host) ? 'loopback' : 'public'
  return isAllowed(url.protocol, place, rule) ? undefined : tellRule(url.protocol, place, rule)
}

/** Error of a connection that was not made because the name resolves to an address that the rule forbids. */
export class BlockedAddress extends Error {
  override readonly name = 'BlockedAddress'
}

/**
 * Creates a lookup for connections that refuses addresses forbidden by the rule, even if the name resolved to others at registration.
 *
 * @param resolve default: the system resolver
 */
export function guardLookup(protocol: string, rule: UrlRule, resolve: typeof lookup = lookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, [])
      const blocked = addresses.find(({ address }) => !isAllowed(protocol, placeOf(address), rule))
      if (blocked !== undefined) {
        const place = placeOf(blocked.address)
        const told = `${hostname} is at ${blocked.address}: the URL ${tellRule(protocol, place, rule)}`
        return callback(new BlockedAddress(told), [])
      }
      const [first] = addresses
      if (options.all === true || first === undefined) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}

function isAllowed(protocol: string, place: Place, rule: UrlRule): boolean {
  if (place === 'forbidden') return false
  if (rule === 'any') return true
  if (rule === 'strict') return protocol === 'https:' && place === 'public'
  return place === 'loopback' || (protocol === 'https:' && place === 'public')
}

function tellRule(protocol: string, place: Place, rule: UrlRule): string {
  if (place === 'forbidden') return 'leads to a link-local or metadata address, which is never taken'
  if (rule === 'strict') return 'must be https and lead to a public host'
  if (protocol === 'http:' && place === 'public') return 'must be https; http is for loopback only'
  return 'leads to a private network; the emulator takes that with the URL rule "any" (A30)'
}

const LOOPBACK = listOf('127.0.0.0/8', '::1/128')
const FORBIDDEN = listOf(
  '169.254.0.0/16',
  'fe80::/10',
  // Metadata services outside of link-local networks.
  'fd00:ec2::254/128',
  '100.100.100.200/32',
  '168.63.129.16/32',
)
const PRIVATE = listOf(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/3',
  '::/128',
  'fc00::/7',
  'fec0::/10',
  'ff00::/8',
)

function placeOf(address: string): Place {
  const plain = address.replace(/%.*$/, '')
  const ip = unwrapIpv4(plain)
  const family = isIP(ip) === 6 ? 'ipv6' : 'ipv4'
  if (FORBIDDEN.check(ip, family)) return 'forbidden'
  if (LOOPBACK.check(ip, family)) return 'loopback'
  return PRIVATE.check(ip, family) ? 'private' : 'public'
}

/** Returns the IPv4 address inside an IPv6 address: mapped, compatible, NAT64 or 6to4. */
function unwrapIpv4(address: string): string {
  if (isIP(address) !== 6) return address
  const groups = toGroups(address)
  const from = (index: number) => {
    const [high = 0, low = 0] = groups.slice(index)
    return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')
  }
  if (groups[0] === 0x2002) return from(1)
  if (groups[0] === 0x64 && groups[1] === 0xff9b) return from(6)
  const isEmbedded = groups.slice(0, 5).every((group) => group === 0) && [0, 0xffff].includes(groups[5] ?? 1)
  return isEmbedded && (groups[6] !== 0 || (groups[7] ?? 0) > 1) ? from(6) : address
}

function toGroups(address: string): readonly number[] {
  // The URL parser normalizes every form to one without a dotted part.
  const written = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = '', tail] = written.split('::').map((part) => part.split(':').filter(Boolean))
  const before = [...head].map((group) => Number.parseInt(group, 16))
  const after = (tail ?? []).map((group) => Number.parseInt(group, 16))
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after]
}

function listOf(...networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
  return list
}
