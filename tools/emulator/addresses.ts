import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { BlockList, isIP } from 'node:net'
import { isLoopback } from '../../src/protocol/loopback.ts'
import { HTTP_URL } from '../../src/protocol/option-checker.ts'
import { show } from '../../src/protocol/show.ts'
import type { Assumed } from './assumptions.ts'

/** Rule for the URLs of webhooks (A30). */
export type UrlRule = Assumed['urlRule']

/** Kind of network of an address. Nothing is ever sent to a `forbidden` one: link-local, or the metadata service of a cloud. */
type Place = 'loopback' | 'public' | 'private' | 'forbidden'

const MAX_URL_LENGTH = 2_048

export function findUrlProblem(text: string, rule: UrlRule): string | undefined {
  if (text.length > MAX_URL_LENGTH) return `is longer than ${MAX_URL_LENGTH} characters`
  const problem = HTTP_URL(text)
  if (problem !== undefined) return `is ${show(text)}; give ${problem}`
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password'
  return findHostProblem(url, rule)
}

/** Describes the problem of the host; undefined if it is allowed. Checks the name here, and its addresses when connecting. */
export function findHostProblem(url: URL, rule: UrlRule): string | undefined {
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const place = isIP(host) !== 0 ? placeOf(host) : isLoopback({ hostname: host }) ? 'loopback' : 'public'
  return isAllowed(url.protocol, place, rule) ? undefined : tellRule(url.protocol, place, rule)
}

export class BlockedAddress extends Error {
  override readonly name = 'BlockedAddress'
}

/**
 * Creates a lookup for connections that refuses addresses forbidden by the rule, even if the name resolved to others at registration.
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
  // The same by NAT64 and 6to4.
  '64:ff9b::a9fe:0/112',
  '2002:a9fe::/32',
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
  '::/96',
  '2002::/16',
  'fc00::/7',
  'fec0::/10',
  'ff00::/8',
)

function placeOf(address: string): Place {
  const ip = address.replace(/%.*$/, '')
  const family = isIP(ip) === 6 ? 'ipv6' : 'ipv4'
  if (FORBIDDEN.check(ip, family)) return 'forbidden'
  if (LOOPBACK.check(ip, family)) return 'loopback'
  return PRIVATE.check(ip, family) ? 'private' : 'public'
}

function listOf(...networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
  return list
}
