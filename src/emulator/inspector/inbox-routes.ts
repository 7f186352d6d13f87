import { type Context, Hono } from 'hono'
import * as z from 'zod'
import { type InboxEntry, type InboxPage, type InboxState, type ListedEntry, MOST_COUNTED } from '../../inbox/inbox.ts'
import { dedupKey, siblingKey } from '../../protocol/dedup-key.ts'
import { PosternError } from '../../protocol/errors.ts'
import { toIso } from '../../protocol/iso-time.ts'
import type { Env } from '../http/env.ts'
import { readJson } from '../http/read-json.ts'
import type { InboxView } from '../options.ts'
import { Refusal } from '../refusal.ts'
import type { InboxCountsShape, InboxDetail, InboxOfEvent, InboxRow, InboxRowPage } from './inbox-shapes.ts'

/** Entries of a page. The engine reads their bodies too. */
const PAGE = 50
const STATES: readonly InboxState[] = ['waiting', 'running', 'dead']
const ofKey = z.strictObject({ key: z.string() })

interface InboxRoutesOptions {
  readonly isWritable: boolean
  readonly onAction?: (action: 'replay' | 'drop', key: string) => void
}

/** Routes of the page to list, replay and drop the events of an inbox. They report errors of the engine to the page. */
export function createInboxRoutes(inbox: InboxView, { isWritable, onAction }: InboxRoutesOptions): Hono<Env> {
  const app = new Hono<Env>()
  /** A key of each receiver that was seen: it starts with the receiver's name. */
  const known = new Map([['', dedupKey('default', '', '')]])
  /** True for a state whose last listing had all of its events; absent until listed. If all are true, every receiver is known. */
  const isListedWhole = new Map<InboxState, boolean>()

  app.get('/counts', async (c) => {
    const { oldestDueAt, ...counts } = await ask(inbox.counts())
    return c.json({
      ...counts,
      oldestDueAt: writeInboxTime(oldestDueAt),
      countedTo: MOST_COUNTED,
      isWritable,
    } satisfies InboxCountsShape)
  })
  app.get('/items', async (c) => {
    const { entries, next = null } = await list(readState(c), c.req.query('after'))
    return c.json({ rows: entries.map(toRow), next } satisfies InboxRowPage)
  })
  app.get('/item', async (c) => c.json(toDetail(await find(c.req.query('key') ?? ''))))
  app.get('/event', async (c) => {
    const { account = '', event = '' } = c.req.query()
    let entry = await findEvent(account, event)
    const unseen = STATES.filter((state) => !isListedWhole.has(state))
    if (entry === undefined && unseen.length > 0) {
      await Promise.all(unseen.map((state) => list(state)))
      entry = await findEvent(account, event)
    }
    const isSure = STATES.every((state) => isListedWhole.get(state))
    return c.json({ item: entry === undefined ? null : toDetail(entry), isSure } satisfies InboxOfEvent)
  })
  app.get('/body', async (c) => {
    const bytes = Buffer.from((await find(c.req.query('key') ?? '')).bytes)
    c.header('cache-control', 'no-store')
    return c.json({ base64: bytes.toString('base64'), text: bytes.toString() })
  })
  app.post('/replay', async (c) => c.json({ isDone: await act(c, 'replay') }))
  app.post('/drop', async (c) => c.json({ isDone: await act(c, 'drop') }))

  async function list(state: InboxState, after?: string): Promise<InboxPage> {
    const page = await ask(inbox.list(state, { after, limit: PAGE }))
    for (const { key } of page.entries) known.set(siblingKey(key, '', ''), key)
    if (after === undefined) isListedWhole.set(state, page.next === undefined)
    return page
  }

  async function findEvent(account: string, event: string): Promise<InboxEntry | undefined> {
    const keys = [...known.values()].map((key) => siblingKey(key, account, event))
    const entries = await Promise.all(keys.map((key) => ask(inbox.get(key))))
    return entries.find((each) => each !== undefined)
  }

  async function find(key: string): Promise<InboxEntry> {
    const entry = await ask(inbox.get(key))
    if (entry === undefined) throw new Refusal('unknown', 'the inbox has no such event: it was handled or dropped')
    return entry
  }

  async function act(c: Context<Env>, action: 'replay' | 'drop'): Promise<boolean> {
    const { key } = await readJson(c, ofKey)
    if (!isWritable) throw new Refusal('forbidden', 'this page is read-only; start it with --write to replay and drop')
    const isDone = await ask(inbox[action](key))
    if (isDone) onAction?.(action, key)
    return isDone
  }
  return app
}

/** Reports an error of the engine as such, and not as a fault of the emulator. */
async function ask<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof PosternError && error.code === 'option_invalid') throw new Refusal('invalid', error.message)
    throw new Refusal('inbox-away', `the inbox cannot be read: ${error instanceof Error ? error.message : error}`)
  }
}

function readState(c: Context<Env>): InboxState {
  const given = c.req.query('state')
  const state = STATES.find((each) => each === given)
  if (state === undefined) throw new Refusal('invalid', `state must be one of ${STATES.join(', ')}`)
  return state
}

function toRow({ key, state, type, id, accountKey, receivedAt, dueAt, failures, tries }: ListedEntry): InboxRow {
  const last = tries.at(-1)
  return {
    ...{ key, state, type, event: id, account: accountKey, failures },
    receivedAt: writeInboxTime(receivedAt),
    dueAt: writeInboxTime(dueAt),
    last: last === undefined ? null : { code: last.code, error: last.error ?? null },
  }
}

function toDetail(entry: InboxEntry): InboxDetail {
  const { since, deaths, marks, tries, source = null, trace } = entry
  const shown = tries.map(({ dueAt: _dueAt, startedAt, endedAt, ...rest }) => ({
    ...rest,
    startedAt: writeInboxTime(startedAt),
    endedAt: writeInboxTime(endedAt),
  }))
  const about = { deaths, marks, source, trace: trace?.traceparent ?? null }
  return { ...toRow(entry), ...about, since: writeInboxTime(since), tries: shown }
}

function writeInboxTime(ms: number | undefined): string | null {
  return (ms !== undefined && toIso(ms)) || null
}
