import { systemClock } from '../host/clock.ts'
import type { LogFields, Logger } from '../host/logger.ts'
import { waitFor } from '../host/wait-for.ts'
import { type Kind, OptionChecker, withMethods } from '../protocol/option-checker.ts'
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

const KEYS: Kind = (value) =>
  typeof value === 'string'
    ? undefined
    : withMethods('current', 'find')(value) &&
      'text such as process.env.INBOX_KEYS, which is set, or an object with current() and find()'

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
  check.mustFit(options, { keys: KEYS }, ['keys'])
  const { keys: given } = options
  const keys = typeof given === 'string' ? readKeys(given, check) : given
  let logger: Logger | undefined
  return {
    keepsLanes: inbox.keepsLanes,
    commandOptions: inbox.commandOptions,
    async put(item) {
      const bytes = await seal(keys, item.bytes, item, BODY)
      await inbox.put({ ...item, bytes })
    },
    work: (run, workOptions) =>
      workSealed(inbox, keys, { run, ...workOptions, tell: (...line) => logger?.error(...line) }),
    counts: () => inbox.counts(),
    async list(state, listOptions) {
      const { entries, next } = await inbox.list(state, listOptions)
      const once = askOnce(keys)
      return { entries: await Promise.all(entries.map((entry) => openTries(once, entry))), next }
    },
    async get(key) {
      const entry = await inbox.get(key)
      if (entry === undefined) return undefined
      const once = askOnce(keys)
      const opened = await openEntry(once, entry)
      return 'why' in opened ? openTries(once, entry) : opened
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

/** The reason why a part cannot be read. */
interface Trouble {
  readonly why: string
  readonly isErased: boolean
}

/** Returns keys of which each is asked for once, for a page or an item: a key service may take long, or cost money. */
function askOnce(keys: SealKeys): SealKeys {
  const asked = new Map<string, ReturnType<SealKeys['find']>>()
  return {
    current: (account) => keys.current(account),
    find(id, account) {
      const key = JSON.stringify([id, account])
      if (!asked.has(key)) asked.set(key, keys.find(id, account))
      return asked.get(key)
    },
  }
}

/** Rejects if the current key cannot be had. */
async function seal(keys: SealKeys, bytes: Uint8Array, { key, accountKey }: ListedEntry | InboxItem, part: string) {
  return sealBytes(bytes, await within(keys.current(accountKey)), toPlace(key, part))
}

/** Returns the item, or why its body cannot be read. Never rejects. */
async function openEntry<T extends InboxEntry>(keys: SealKeys, entry: T): Promise<T | Trouble> {
  const opened = await openPart(keys, entry.bytes, entry, BODY)
  return 'why' in opened ? opened : { ...(await openTries(keys, entry)), ...opened }
}

async function openTries<T extends ListedEntry>(keys: SealKeys, entry: T): Promise<T> {
  const openTry = async (tried: InboxTry) => {
    if (!tried.error?.startsWith(PREFIX)) return tried
    const sealed = Buffer.from(tried.error.slice(PREFIX.length), 'base64')
    if (keyIdOf(sealed) === undefined) return tried
    const opened = await openPart(keys, sealed, entry, toPart(tried))
    return { ...tried, error: 'why' in opened ? '(sealed)' : Buffer.from(opened.bytes).toString() }
  }
  return { ...entry, tries: await Promise.all(entry.tries.map(openTry)) }
}

async function openPart(
  keys: SealKeys,
  bytes: Uint8Array,
  { key, accountKey }: ListedEntry,
  part: string,
): Promise<{ readonly bytes: Uint8Array } | Trouble> {
  const id = keyIdOf(bytes)
  if (id === undefined) return { bytes } // it was stored before the app had keys
  try {
    const found = await within(keys.find(id, accountKey))
    if (found === 'erased') return { why: `its key ${quote(id)} was destroyed`, isErased: true }
    if (found === undefined) return { why: `this process does not know its key ${quote(id)}`, isErased: false }
    return { bytes: openBytes(bytes, found, toPlace(key, part)) }
  } catch {
    return { why: `its key ${quote(id)} cannot be had, or does not open it`, isErased: false }
  }
}

/** Returns the settlement as it is stored. Without a key, an error is left out. Never rejects. */
async function sealSettlement(keys: SealKeys, settlement: Settlement, item: TakenItem): Promise<Settlement> {
  if (settlement.next === 'remove' || settlement.tried?.error === undefined) return settlement
  const { error, ...tried } = settlement.tried
  try {
    const sealed = await seal(keys, Buffer.from(error), item, toPart(tried))
    return { ...settlement, tried: { ...tried, error: PREFIX + sealed.toString('base64') } }
  } catch {
    return { ...settlement, tried }
  }
}

/** Rejects if a key service does not answer: the others of the inbox must not wait for it. */
async function within<T>(key: T | Promise<T>): Promise<T> {
  const answer = await waitFor<T, () => T>(
    systemClock,
    Promise.resolve(key),
    STORE_LIMIT_MS,
    (value) => () => value,
    (cause) => () => {
      throw cause
    },
  )
  return answer()
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
function workSealed(inbox: Inbox, keys: SealKeys, { run, tell, ...options }: SealedWork): InboxLoop {
  const { clock, retentionMs = Number.POSITIVE_INFINITY, onSettled, onStalled } = options
  const opened = new WeakMap<TakenItem, TakenItem>()
  const plain = new WeakMap<Settlement, Settlement>()
  const toldAt = new Map<string, number>()
  const tellOf = ({ type, id, key }: TakenItem, { why, isErased }: Trouble) => {
    const hint = isErased ? ERASED : MISSING
    const now = clock.monotonic()
    if (now - (toldAt.get(hint) ?? Number.NEGATIVE_INFINITY) < QUIET_MS) return
    toldAt.set(hint, now)
    tell({ key }, `sealedInbox cannot open ${quote(type)} ${quote(id)}: ${why}. ${hint}`)
  }
  const runOpened = async (item: TakenItem): Promise<Settlement> => {
    const own = await openEntry(askOnce(keys), item)
    if ('why' in own) {
      tellOf(item, own)
      return own.isErased ? { next: 'remove' } : putOff(item, own.why, clock.now(), retentionMs)
    }
    opened.set(item, own)
    const settlement = await run(own)
    const sealed = await sealSettlement(keys, settlement, item)
    plain.set(sealed, settlement)
    return sealed
  }
  return inbox.work(runOpened, {
    ...options,
    onSettled: (item, settlement) => onSettled(opened.get(item) ?? item, plain.get(settlement) ?? settlement),
    onStalled: onStalled && ((item) => onStalled(opened.get(item) ?? item)),
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
