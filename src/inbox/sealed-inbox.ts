import { systemClock } from '../host/clock.ts'
import type { LogFields, Logger } from '../host/logger.ts'
import { waitFor } from '../host/wait-for.ts'
import { OptionChecker, TEXT, withMethods } from '../protocol/option-checker.ts'
import { STORE_LIMIT_MS } from '../protocol/schedule.ts'
import { quote } from '../protocol/show.ts'
import type {
  Inbox,
  InboxEntry,
  InboxItem,
  InboxLoop,
  InboxTry,
  InboxWorkOptions,
  ListedEntry,
  Settlement,
  TakenItem,
} from './inbox.ts'
import { keyIdOf, openBytes, readKeys, type SealKeys, sealBytes } from './seal.ts'
import { goOn } from './settle.ts'

/** Options of `sealedInbox`. */
export type SealedInboxOptions = {
  /**
   * Text such as `2026-11:base64,2026-10:base64`, the key that seals first; or functions that return keys for an account. If a key is lost, so are
   * the events that it sealed.
   */
  readonly keys: string | SealKeys
}

/** Text of a sealed error begins with this. */
const PREFIX = 'sealed:'
/** Delay before an item is tried again whose key is not there: another version of the app may have it. */
const LATER_MS = 60_000
/** Time for which it holds up its lane, in milliseconds: longer than a rotation takes. */
const HOLDS_LANE_MS = 300_000
/** Minimum time between two log lines about a key, in milliseconds. */
const QUIET_MS = 60_000

const check = new OptionChecker('sealedInbox')

/**
 * Wraps an inbox, so that the bodies of events, and the errors of tries, which may quote them, are encrypted at rest: AES-256-GCM, with a
 * key derived for each. Keys, accounts, ids, types and traces stay readable, since the engine needs them. Bodies that were stored before stay as they are.
 *
 * @throws ConfigurationError `option_invalid`, `option_unknown`
 * @example
 * const inbox = sealedInbox(postgresInbox({ pool }), { keys: process.env.INBOX_KEYS ?? '' })
 */
export function sealedInbox(inbox: Inbox, options: SealedInboxOptions): Inbox {
  check.mustBe('the inbox', inbox, withMethods('put', 'work', 'get'))
  const { keys } = options
  check.mustFit(options, { keys: typeof keys === 'string' ? TEXT : withMethods('current', 'find') }, ['keys'])
  const seal = new Seal(typeof keys === 'string' ? readKeys(keys, check) : keys)
  let logger: Logger | undefined
  const fields = Object.entries(inbox).filter(([, value]) => typeof value !== 'function')
  return {
    ...Object.fromEntries(fields), // what the engine says of itself
    async put(item) {
      const bytes = await seal.close(item.bytes, item, BODY)
      await inbox.put({ ...item, bytes })
    },
    work: (run, workOptions) =>
      workSealed(inbox, seal, { run, ...workOptions, tell: (...line) => logger?.error(...line) }),
    counts: () => inbox.counts(),
    async list(state, listOptions) {
      const { entries, next } = await inbox.list(state, listOptions)
      const { openTries } = seal.askingOnce()
      return { entries: await Promise.all(entries.map(openTries)), next }
    },
    async get(key) {
      const entry = await inbox.get(key)
      if (entry === undefined) return undefined
      const once = seal.askingOnce()
      const opened = await once.open(entry)
      return 'why' in opened ? once.openTries(entry) : opened.entry
    },
    replay: (key) => inbox.replay(key),
    drop: (key) => inbox.drop(key),
    reportTo(given) {
      logger = given
      inbox.reportTo?.(given)
    },
  }
}

const BODY = 'body'

type Opened<T> = { readonly entry: T } | { readonly why: string; readonly isErased: boolean }

/** Seals and opens the parts of items. */
class Seal {
  readonly #keys: SealKeys

  constructor(keys: SealKeys) {
    this.#keys = keys
  }

  /** Returns a seal that asks for each key of an account once, for a page or an item: a key service may take long, or cost money. */
  askingOnce(): Seal {
    const asked = new Map<string, ReturnType<SealKeys['find']>>()
    const find: SealKeys['find'] = (id, account) => {
      const key = JSON.stringify([id, account])
      if (!asked.has(key)) asked.set(key, this.#keys.find(id, account))
      return asked.get(key)
    }
    return new Seal({ current: (account) => this.#keys.current(account), find })
  }

  /** Rejects if the current key cannot be had. */
  async close(bytes: Uint8Array, { key, accountKey }: ListedEntry | InboxItem, part: string): Promise<Buffer> {
    return sealBytes(bytes, await within(this.#keys.current(accountKey)), toPlace(key, part))
  }

  /** Returns the item, or why its body cannot be read. Never rejects. */
  async open<T extends InboxEntry>(entry: T): Promise<Opened<T>> {
    const opened = await this.#openPart(entry.bytes, entry, BODY)
    if ('why' in opened) return opened
    return { entry: { ...(await this.openTries(entry)), bytes: opened.entry } }
  }

  readonly openTries = async <T extends ListedEntry>(entry: T): Promise<T> => {
    if (!entry.tries.some(({ error }) => error?.startsWith(PREFIX))) return entry
    return { ...entry, tries: await Promise.all(entry.tries.map((one) => this.#openTry(one, entry))) }
  }

  async #openTry(tried: InboxTry, entry: ListedEntry): Promise<InboxTry> {
    if (!tried.error?.startsWith(PREFIX)) return tried
    const sealed = Buffer.from(tried.error.slice(PREFIX.length), 'base64')
    if (keyIdOf(sealed) === undefined) return tried
    const opened = await this.#openPart(sealed, entry, toPart(tried))
    return { ...tried, error: 'why' in opened ? '(sealed)' : Buffer.from(opened.entry).toString() }
  }

  async #openPart(bytes: Uint8Array, { key, accountKey }: ListedEntry, part: string): Promise<Opened<Uint8Array>> {
    const id = keyIdOf(bytes)
    if (id === undefined) return { entry: bytes } // it was stored before the app had keys
    try {
      const found = await within(this.#keys.find(id, accountKey))
      if (found === 'erased') return { why: `its key ${quote(id)} was destroyed`, isErased: true }
      if (found === undefined) return { why: `this process does not know its key ${quote(id)}`, isErased: false }
      return { entry: openBytes(bytes, found, toPlace(key, part)) }
    } catch {
      return { why: `its key ${quote(id)} cannot be had, or does not open it`, isErased: false }
    }
  }

  /** Returns the settlement as it is stored. Without a key, an error is left out. Never rejects. */
  async settlement(settlement: Settlement, item: TakenItem): Promise<Settlement> {
    if (settlement.next === 'remove' || settlement.tried?.error === undefined) return settlement
    const { error, ...tried } = settlement.tried
    try {
      const sealed = await this.close(Buffer.from(error), item, toPart(tried))
      return { ...settlement, tried: { ...tried, error: PREFIX + sealed.toString('base64') } }
    } catch {
      return { ...settlement, tried }
    }
  }
}

/** Rejects if a key service does not answer: the others of the inbox must not wait for it. */
async function within<T>(key: T | Promise<T>): Promise<T> {
  const { value, cause } = await waitFor<T, { readonly value?: T; readonly cause?: unknown }>(
    systemClock,
    Promise.resolve(key),
    STORE_LIMIT_MS,
    (value) => ({ value }),
    (cause) => ({ cause }),
  )
  if (cause !== undefined) throw cause
  return value as T // set unless it was rejected
}

/** A part of an item opens in no other item, and as no other part. */
function toPlace(key: string, part: string): string {
  return `${part}:${key}`
}

function toPart({ n }: Pick<InboxTry, 'n'>): string {
  return `try ${n}`
}

interface SealedWork extends InboxWorkOptions {
  readonly run: (item: TakenItem) => Promise<Settlement>
  readonly tell: (fields: LogFields, message: string) => void
}

/** Runs items with their own bodies. The engine gets its own items back, with sealed errors; the worker gets what it knows. */
function workSealed(inbox: Inbox, seal: Seal, { run, tell, ...options }: SealedWork): InboxLoop {
  const { clock, retentionMs = Number.POSITIVE_INFINITY } = options
  const known = new WeakMap<
    TakenItem,
    { readonly item: TakenItem; readonly sealed?: Settlement; readonly plain?: Settlement }
  >()
  const toldAt = { erased: Number.NEGATIVE_INFINITY, missing: Number.NEGATIVE_INFINITY }
  const tellOf = ({ type, id, key }: TakenItem, what: string, kind: keyof typeof toldAt) => {
    if (clock.monotonic() - toldAt[kind] < QUIET_MS) return
    toldAt[kind] = clock.monotonic()
    tell({ key }, `sealedInbox cannot open ${quote(type)} ${quote(id)}: ${what}`)
  }
  const runOpened = async (item: TakenItem): Promise<Settlement> => {
    const opened = await seal.askingOnce().open(item)
    if ('why' in opened) {
      tellOf(item, `${opened.why}. ${opened.isErased ? ERASED : MISSING}`, opened.isErased ? 'erased' : 'missing')
      return opened.isErased ? { next: 'remove' } : putOff(item, opened.why, clock.now(), retentionMs)
    }
    known.set(item, { item: opened.entry })
    const plain = await run(opened.entry)
    const sealed = await seal.settlement(plain, item)
    known.set(item, { item: opened.entry, sealed, plain })
    return sealed
  }
  return inbox.work(runOpened, {
    ...options,
    onSettled(item, settlement) {
      const { item: own = item, sealed, plain = settlement } = known.get(item) ?? {}
      options.onSettled(own, settlement === sealed ? plain : settlement)
    },
    ...(options.onStalled && { onStalled: (item) => options.onStalled?.(known.get(item)?.item ?? item) }),
  })
}

const MISSING = 'It is tried again every minute, and kept: add the key to keys. This is reported once a minute.'
const ERASED = 'It was removed, as is each event with that key. This is reported once a minute.'

/** Puts an item off until its key is there, without a failed try; at the end of the store's retention, it is a dead letter. */
function putOff(item: TakenItem, error: string, now: number, retentionMs: number): Settlement {
  const { tries, dueAt, worker, marks, since } = item
  const given = { n: (tries.at(-1)?.n ?? 0) + 1, dueAt, startedAt: now, endedAt: now, code: 'sealed', error, worker }
  const tried = goOn(item, given)
  if (now + LATER_MS > since + retentionMs) return { next: 'bury', marks, tried: { ...tried, code: 'expired' } }
  const leavesLane = now - tried.startedAt > HOLDS_LANE_MS
  return { next: 'wait', afterMs: LATER_MS, isFailure: false, isUnproven: true, leavesLane, tried }
}
