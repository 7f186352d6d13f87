import { createHash } from 'node:crypto'
import { type Context, Hono } from 'hono'
import * as z from 'zod'
import type { InboxEntry } from '../../../src/inbox/inbox.ts'
import { keyIdOf } from '../../../src/inbox/seal.ts'
import { PosternError } from '../../../src/protocol/errors.ts'
import { quote } from '../../../src/protocol/show.ts'
import { describeBody } from '../http/describe.ts'
import type { Env } from '../http/env.ts'
import { readJson } from '../http/read-json.ts'
import type { InboxView } from '../options.ts'
import { Refusal } from '../refusal.ts'
import { InboxList, toRow, writeInboxTime } from './inbox-list.ts'
import type { InboxCountsShape, InboxDetail, InboxRows } from './inbox-shapes.ts'

const ofKey = z.strictObject({ key: z.string() })

interface InboxRoutesOptions {
  readonly isWritable: boolean
  /** A list that another reader shares. */
  readonly list?: InboxList
  readonly onAction?: (action: 'replay' | 'drop', key: string) => void
}

/** Routes of the page to list, replay and drop the events of an inbox. They report errors of the engine to the page. */
export function createInboxRoutes(inbox: InboxView, options: InboxRoutesOptions): Hono<Env> {
  const { isWritable, onAction, list = new InboxList((...given) => inbox.list(...given)) } = options
  const app = new Hono<Env>()

  app.get('/counts', async (c) => {
    const { dead } = await ask(inbox.counts())
    return c.json({ dead, isWritable } satisfies InboxCountsShape)
  })
  app.get('/rows', async (c) => {
    const { rows, isWhole } = await ask(list.read())
    const tag = createHash('sha256').update(JSON.stringify(rows)).digest('hex')
    const isKnown = c.req.query('known') === tag
    return c.json({ tag, isWhole, ...(!isKnown && { rows }) } satisfies InboxRows)
  })
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
    list.forget()
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

function toDetail(entry: InboxEntry): InboxDetail {
  const { receivedAt, deaths, marks, tries, source = null, trace } = entry
  const shown = tries.map(({ dueAt: _dueAt, startedAt, endedAt, ...rest }) => ({
    ...rest,
    startedAt: writeInboxTime(startedAt),
    endedAt: writeInboxTime(endedAt),
  }))
  return {
    row: toRow(entry),
    receivedAt: writeInboxTime(receivedAt),
    deaths,
    marks,
    tries: shown,
    source,
    trace: trace?.traceparent ?? null,
  }
}
