import {
  escapeUnits,
  type InboxEntry,
  type InboxItem,
  type InboxState,
  type InboxTry,
  type ListedEntry,
} from '../../../../src/engine.ts'
import { readJson, readList } from '../../stored-json.ts'
import { decodeMark, encodeKey, encodeMark } from '../encode.ts'

/** An item in the form for statements. */
export interface StoredItem {
  readonly key: string
  readonly account: string
  readonly id: string
  readonly type: string
  readonly receivedAt: number
  /** Empty for most items. */
  readonly more: string
  /** Empty for an item without a lane. */
  readonly lane: string
  readonly bytes: Uint8Array
}

/** The fields that few items have. */
interface More extends Pick<InboxItem, 'source' | 'trace'> {
  /** The key, if it is stored as a digest. */
  readonly key?: string
}

export function toStored(item: InboxItem): StoredItem {
  const { accountKey, receivedAt, bytes, source, trace } = item
  const key = encodeKey(item.key)
  const more: More = { ...(key !== item.key && { key: item.key }), source, trace }
  const json = JSON.stringify(more)
  return {
    key,
    account: encodeMark(accountKey),
    id: encodeMark(item.id),
    type: encodeMark(item.type),
    receivedAt,
    more: json === '{}' ? '' : encodeMark(json),
    lane: toStoredLane(item) ?? '',
    bytes,
  }
}

/** Returns the lane of an item in the form for statements. */
export function toStoredLane({ lane }: InboxItem): string | undefined {
  return lane === undefined ? undefined : encodeMark(lane)
}

/** @param row the columns of `ENTRY`; only statements of the inbox write them */
export function toListed(row: readonly unknown[], state: InboxState): ListedEntry {
  const [storedKey, account, id, type, receivedAt, more, since, dueAt, failures, deaths, marks, tries, lane] = row
  const { key = String(storedKey), ...rest } = (more === null ? {} : (readJson(decodeMark(String(more))) ?? {})) as More
  return {
    key,
    accountKey: decodeMark(String(account)),
    id: decodeMark(String(id)),
    type: decodeMark(String(type)),
    receivedAt: Number(receivedAt),
    ...rest,
    ...(lane === null ? {} : { lane: decodeMark(String(lane)) }),
    state,
    dueAt: toMs(dueAt),
    since: toMs(since),
    failures: Number(failures),
    deaths: Number(deaths),
    marks: readList<string>(marks),
    tries: readList<InboxTry>(tries),
  }
}

/** @param body in hexadecimal: the app may have a parser of its own for the type of bytes */
export function toEntry(row: readonly unknown[], body: unknown, state: InboxState): InboxEntry {
  return { ...toListed(row, state), bytes: Buffer.from(String(body), 'hex') }
}

/** Microseconds as milliseconds. */
export function toMs(microseconds: unknown): number {
  return Math.floor(Number(microseconds) / 1_000)
}

/** Writes JSON in ASCII, whatever the encoding of the database. */
export function toAsciiJson(value: unknown): string {
  return escapeUnits(JSON.stringify(value), /[\x7f-\uffff]/g)
}
