import { createHmac } from 'node:crypto'
import { ConfigurationError, FUNCTION, number, type OpenData, OptionChecker, oneOf, type Sender } from '../engine.ts'
import type { ByType } from './by-type.ts'
import { base64Digest, splitOnce, unixSeconds } from './digests.ts'

/** Options of `standardWebhooks`. */
export interface StandardWebhooksOptions {
  /** The first word of the names of the headers: `svix` for Svix, Clerk and Resend. Default `webhook`. */
  readonly headers?: 'webhook' | 'svix' | undefined
  /** Returns the tenant that a body names. Default: none, and all events are of one. */
  readonly account?: ((body: OpenData) => string | undefined) | undefined
  /** Returns the type that a body names. Default: its `type`, which not all senders have. */
  readonly type?: ((body: OpenData) => string | undefined) | undefined
  /** Most milliseconds between the signed time and the time of receipt. Default 300,000. */
  readonly toleranceMs?: number | undefined
}

const HOUR_MS = 3_600_000

const OPTIONS = {
  headers: oneOf(['webhook', 'svix']),
  account: FUNCTION,
  type: FUNCTION,
  toleranceMs: number(1_000, 24 * HOUR_MS),
}

/**
 * A sender by the Standard Webhooks specification, which signs the id, the time of the attempt and the body: Svix, Clerk, Resend, OpenAI,
 * Supabase and others.
 *
 * Sources, November 2026: the specification (github.com/standard-webhooks/standard-webhooks), docs.svix.com/receiving.
 *
 * @throws ConfigurationError `option_unknown`, `option_invalid`
 */
export function standardWebhooks<Event = never>(options: StandardWebhooksOptions = {}): Sender<ByType<Event>> {
  new OptionChecker('standardWebhooks').mustFit(options, OPTIONS)
  const { headers: prefix = 'webhook', account, type: typeOf = typeIn, toleranceMs = 300_000 } = options
  const ID = `${prefix}-id`
  const TIME = `${prefix}-timestamp`
  const SIGNATURE = `${prefix}-signature`
  return {
    name: prefix === 'svix' ? 'Svix' : 'Standard Webhooks',
    headers: [SIGNATURE, ID, TIME],
    unsigned: [],
    toleranceMs,
    waitsMs: 15_000,
    attempts: 8,
    duplicatesForMs: 76 * HOUR_MS, // the schedule of the specification; that of Svix takes 28 h
    toKey: decodeSecret,
    readHead(headers) {
      const id = headers[ID] ?? ''
      const time = headers[TIME]
      const signedAt = unixSeconds(time)
      if (signedAt === undefined || id.includes('.')) return undefined // a dot could move the border between id and time
      const digests: Uint8Array[] = []
      for (const part of (headers[SIGNATURE] ?? '').split(' ')) {
        if (part.endsWith(',')) return undefined // two headers, joined
        const [version, value] = splitOnce(part, ',')
        const digest = version === 'v1' ? base64Digest(value) : undefined // v1a is asymmetric
        if (digest !== undefined) digests.push(digest)
      }
      return { digests, before: `${id}.${time}.`, signedAt }
    },
    nameEvent(body, headers, { signedAt = 0 }) {
      const { timestamp } = body
      const type = typeOf(body)
      if (type === undefined) return undefined
      return {
        id: headers[ID] ?? '',
        type,
        accountKey: account?.(body) ?? prefix,
        timestamp: typeof timestamp === 'string' ? timestamp : new Date(signedAt).toISOString(),
      }
    },
    sign(body, key, { id = '', at }) {
      const time = Math.floor(at / 1_000)
      const digest = createHmac('sha256', key).update(`${id}.${time}.`).update(body).digest('base64')
      return { [ID]: id, [TIME]: String(time), [SIGNATURE]: `v1,${digest}` }
    },
  }
}

function typeIn({ type }: OpenData): string | undefined {
  return typeof type === 'string' ? type : undefined
}

/** Decodes base64 behind `whsec_` strictly: Node's decoder skips what it does not know, and would make a short key of another kind of secret. */
function decodeSecret(secret: string): Uint8Array {
  const text = secret.replace(/^(v1,)?whsec_/, '') // Supabase shows it behind "v1,"
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '')) return bytes
  throw new ConfigurationError(
    'secret_unusable',
    'The signing secret is not "whsec_" and base64, so it is not that of a webhook endpoint: an API key cannot verify signatures. If the sender signs with the text itself, give its bytes: Buffer.from(secret).',
  )
}
