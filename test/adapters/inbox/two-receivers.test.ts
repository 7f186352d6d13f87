import { createReceiver, type Inbox } from 'postern'
import { openSqlite, sqliteInbox } from 'postern/sqlite'
import { events, signed } from 'postern/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { serverFor } from '../../engines/server-for.ts'
import { type Line, linesInto } from '../../receiver/support.ts'
import { makeFolder } from '../stores/sqlite/folder.ts'
import { ENGINES, openInbox, until } from './engines.ts'

const SECRET = 'whsec_two_receivers'
const fileOf = makeFolder()

/** Engines, each with a function that returns another opener of one inbox. */
const SERVED = ENGINES.map((engine) => ({
  name: engine.name,
  start: () => serverFor(engine.start),
  open: (url: string): Promise<Inbox> => openInbox(engine, url, 'shared'),
}))
const SQLITE = {
  name: 'sqlite',
  start: () => () => ({ url: fileOf('shared.db') }),
  open: async (url: string): Promise<Inbox> => {
    const database = openSqlite(url)
    onTestFinished(() => database.close())
    return sqliteInbox({ database })
  },
}

/** A receiver of this name with a worker, whose handlers fail the first time. */
function begin(name: string, inbox: Inbox) {
  const [ran, codes, lines]: [string[], string[], Line[]] = [[], [], []]
  const receiver = createReceiver({
    secret: SECRET,
    name,
    inbox,
    leaseMs: 2_000,
    logger: linesInto(lines),
    onError: ({ code }) => void codes.push(code),
  })
  onTestFinished(async () => void (await receiver.close({ timeoutMs: 0 })))
  receiver.on('*', { name: 'save' }, ({ id }) => {
    ran.push(id)
    if (ran.length === 1) throw new Error('not yet')
  })
  const deliver = async (id: string) =>
    receiver.receive(signed({ ...events.contact.created(), id }, { secret: SECRET }))
  return { receiver, ran, codes, lines, deliver }
}

describe.each([SQLITE, ...SERVED])('receivers of two names on one inbox on $name', ({ start, open }) => {
  const server = start()

  it('run their own events only, and tell of failed tries, and once of the other', async () => {
    const { url } = server()
    const [billing, mailing] = [begin('billing', await open(url)), begin('mailing', await open(url))]
    const ids = ['evt_1', 'evt_2', 'evt_3', 'evt_4'] // the same of both
    for (const { deliver } of [billing, mailing])
      for (const id of ids) expect(await deliver(id)).toMatchObject({ outcome: 'accepted' })
    billing.receiver.work({ concurrency: 8, delay: () => 0 })
    await until(() => billing.codes.includes('inbox_shared') && billing.ran.length === 5)
    mailing.receiver.work({ concurrency: 8, delay: () => 0 })
    await until(() => mailing.ran.length === 5)
    for (const { ran, codes, lines } of [billing, mailing]) {
      expect([...new Set(ran)].sort()).toEqual(ids)
      const told = lines.filter(({ level }) => level === 'warn').map(({ message }) => message)
      expect(told).toEqual([expect.stringContaining(`"${ran[0]}": try 1 of 10 failed`)])
      expect(codes.filter((code) => code === 'handler_failed')).toHaveLength(1)
    }
    expect(billing.codes.filter((code) => code === 'inbox_shared')).toHaveLength(1)
  })
})
