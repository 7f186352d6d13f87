import { createReceiver, type Inbox } from 'postern'
import { events, signed } from 'postern/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { serverFor } from '../../engines/server-for.ts'
import { type Line, linesInto } from '../../receiver/support.ts'
import { ENGINES, openInbox, sqlite, until } from './engines.ts'

const SECRET = 'whsec_two_receivers'

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

describe.each([sqlite, ...ENGINES])('receivers of two names on one inbox on $name', (engine) => {
  const server = serverFor<{ readonly url: string; remove(): Promise<void> }>(engine.start)

  it('run their own events only, and tell of failed tries, and once of the other', async () => {
    const open = () => openInbox(engine, server().url, 'shared')
    const [billing, mailing] = [begin('billing', await open()), begin('mailing', await open())]
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
