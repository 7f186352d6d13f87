import { type Context, Hono } from 'hono'
import * as z from 'zod'
import { type InboxEntry, type InboxState, MOST_COUNTED } from '../../../src/inbox/inbox.ts'
import { keyIdOf } from '../../../src/inbox/seal.ts'
import { PosternError } from '../../../src/protocol/errors.ts'
import { quote } from '../../../src/protocol/show.ts'
import { describeBody } from '../http/describe.ts'
import type { Env } from '../http/env.ts'
import { readJson } from '../http/read-json.ts'
import type { InboxView } from '../options.ts'
import { Refusal } from '../refusal.ts'
import { InboxLists, toPage, toRow, writeInboxTime } from './inbox-list.ts'
import type { InboxCountsShape, InboxDetail, InboxRowPage } from './inbox-shapes.ts'

const STATES: readonly InboxState[] = ['waiting', 'running', 'dead']
const ofKey = z.strictObject({ key: z.string() })

interface InboxRoutesOptions {
  readonly isWritable: boolean
  /** Lists that another reader shares. */
  readonly lists?: InboxLists
  readonly onAction?: (action: 'replay' | 'drop', key: string) => void
}

/** Routes of the page to list, replay and drop the events of an inbox. They report errors of the engine to the page. */
export function createInboxRoutes(inbox: InboxView, options: InboxRoutesOptions): Hono<Env> {
  const { isWritable, onAction, lists = new InboxLists((...given) => inbox.list(...given)) } = options
  const app = new Hono<Env>()

  app.get('/counts', async (c) => {
    const { oldestDueAt, ...counts } = await ask(inbox.counts())
    return c.json({
      ...counts,
      oldestDueAt: writeInboxTime(oldestDueAt),
      countedTo: MOST_COUNTED,
      isWritable,
    } satisfies InboxCountsShape)
  })
  app.get('/items', async (c) =>
    c.json(toPage(await ask(lists.read(readState(c))), c.req.query()) satisfies InboxRowPage),
  )
  app.get('/item', async (c) => c.json(toDetail(await find(c.req.query('key') ?? ''))))
  app.get('/body', async (c) => {
    c.header('cache-control', 'no-store')
    const entry = await find(c.req.query('key') ?? '')
    const sealedBy = keyIdOf(entry.bytes)
    if (sealedBy !== undefined)
      throw new Refusal('forbidden', `the body is sealed: start the page with the key ${quote(sealedBy)} in INBOX_KEYS`)
    return c.json(describeBody(entry))
  })
  app.post('/replay', async (c) => c.json({ isDone: await act(c, 'replay') }))
  app.post('/drop', async (c) => c.json({ isDone: await act(c, 'drop') }))

  async function find(key: string): Promise<InboxEntry> {
    const entry = await ask(inbox.get(key))
    if (entry === undefined) throw new Refusal('unknown', 'the inbox has no such event: it was handled or dropped')
    return entry
  }

  async function act(c: Context<Env>, action: 'replay' | 'drop'): Promise<boolean> {
    const { key } = await readJson(c, ofKey)
    if (!isWritable) throw new Refusal('forbidden', 'this page is read-only; start it with --write to replay and drop')
    const isDone = await ask(inbox[action](key))
    lists.forget()
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
