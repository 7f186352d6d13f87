import { randomBytes } from 'node:crypto'
import { createReceiver, type InboxItem, type PosternError, sealedInbox, systemClock } from 'postern'
import { openSqlite, sqliteInbox } from 'postern/sqlite'
import { events, signed } from 'postern/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bury, DONE, makeItem, tried, work } from '../adapters/inbox/engines.ts'
import { type Line, linesInto } from '../receiver/support.ts'
import { makePath, until } from './scene.ts'

type Keys = Parameters<typeof sealedInbox>[1]['keys']

const newKey = (id: string) => ({ id, bytes: randomBytes(32) })
const [OLD, NEW] = [newKey('2026-10'), newKey('2026-11')]
const toText = (...keys: readonly { readonly id: string; readonly bytes: Buffer }[]) =>
  keys.map(({ id, bytes }) => `${id}:${bytes.toString('base64')}`).join(',')
const body = (bytes?: Uint8Array) => Buffer.from(bytes ?? []).toString()
const item = (id: string): InboxItem => ({ ...makeItem(id), bytes: Buffer.from(`{"email":"zoe-${id}"}`) })

function open() {
  const database = openSqlite(makePath())
  onTestFinished(() => database.close())
  const plain = sqliteInbox({ database })
  const lines: Line[] = []
  const seal = (keys: Keys) => {
    const inbox = sealedInbox(plain, { keys })
    inbox.reportTo?.(linesInto(lines))
    return inbox
  }
  /** Makes an item due that waits. */
  const hurry = () => database.exec('UPDATE postern_inbox SET position = 0, due_at = 0 WHERE state = 1')
  return { database, plain, seal, lines, hurry }
}

describe('sealedInbox', () => {
  it('keeps no text of a body, or of an error, at rest, and passes the whole event to handlers and owners', async () => {
    const { plain, seal } = open()
    const [errors, dead, lines]: [PosternError[], InboxItem[], Line[]] = [[], [], []]
    const receiver = createReceiver({
      secret: 'whsec_sealed',
      inbox: seal(toText(NEW)),
      logger: linesInto(lines),
      onError: (error) => void errors.push(error),
      onDeadLetter: (letter) => void dead.push(letter),
    })
    onTestFinished(async () => void (await receiver.close({ timeoutMs: 0 })))
    receiver.on('contact.created', ({ data }) => {
      throw new Error(`refused ${data.record.email}`)
    })
    const event = events.contact.created({ email: 'zoe@example.test' })
    await receiver.receive(signed(event, { secret: 'whsec_sealed' }))
    receiver.work({ attempts: 2, delay: () => 0 })
    await until('it is dead', () => dead.length === 1)
    const [stored] = (await plain.list('dead')).entries
    const raw = await plain.get(stored?.key ?? '')
    expect(JSON.stringify([raw, body(raw?.bytes)])).not.toContain('zoe')
    expect(raw?.tries.map(({ error }) => error?.slice(0, 7))).toEqual(['sealed:', 'sealed:'])
    const whole = await seal(toText(NEW)).get(stored?.key ?? '')
    for (const { bytes } of [whole, dead[0]].filter((each) => each !== undefined))
      expect(JSON.parse(body(bytes))).toMatchObject({ id: event.id, data: event.data })
    expect(whole?.tries.at(-1)?.error).toContain('refused zoe@example.test')
    expect(errors.at(-1)).toMatchObject({ code: 'dead_letter', cause: new Error('refused zoe@example.test') })
    expect(JSON.stringify(lines)).not.toContain('sealed:')
  })

  it('opens what an earlier key sealed, and what was stored before there were keys', async () => {
    const { plain, seal } = open()
    await plain.put(item('1'))
    await seal(toText(OLD, NEW)).put(item('2'))
    const rotated = seal(toText(NEW, OLD))
    await rotated.put(item('3'))
    const ran: string[] = []
    work(rotated, ({ bytes }) => {
      ran.push(body(bytes))
      return DONE
    })
    await until('all ran', () => ran.length === 3)
    expect(ran.sort()).toEqual(['1', '2', '3'].map((id) => body(item(id).bytes)))
  })

  it.each<[string, Keys, (database: ReturnType<typeof open>['database']) => unknown, RegExp]>([
    ['whose key it does not know', toText(NEW), () => {}, /does not know its key "2026-10"/],
    ['whose key is another one of that name', toText({ ...NEW, id: OLD.id }), () => {}, /or does not open it/],
    [
      'whose key cannot be had',
      { current: () => NEW, find: async () => Promise.reject(new Error('away')) },
      () => {},
      /cannot be had/,
    ],
    [
      'whose body was changed',
      toText(OLD),
      (database) =>
        database.exec(`UPDATE postern_inbox_bodies SET bytes = CAST(substr(bytes, 1, 60) || x'00' AS BLOB)`),
      /or does not open it/,
    ],
    [
      'that has the body of another one',
      toText(OLD),
      (database) => database.exec(`UPDATE postern_inbox SET key = 'kother'`),
      /or does not open it/,
    ],
  ])('puts off an event %s, without a failed try, and says so once', async (_, keys, damage, why) => {
    const { database, plain, seal, lines, hurry } = open()
    await seal(toText(OLD)).put(item('1'))
    damage(database)
    const loop = work(seal(keys), () => DONE)
    const getOnly = async () => (await plain.list('waiting')).entries[0]
    await until('it was put off', async () => (await getOnly())?.tries.length === 1)
    const entry = await getOnly()
    expect(entry).toMatchObject({
      failures: 0,
      deaths: 0,
      tries: [{ code: 'sealed', error: expect.stringMatching(why) }],
    })
    expect(entry?.dueAt).toBeGreaterThan(Date.now() + 50_000)
    hurry()
    await until('it was put off again', async () => {
      const [last] = (await getOnly())?.tries ?? []
      return last !== undefined && last.endedAt > last.startedAt
    })
    expect((await getOnly())?.tries).toHaveLength(1)
    await loop.close(1_000)
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(1)
    expect(lines[0]?.message).toMatch(why)
  })

  it('makes a dead letter of what cannot be opened until the end of the retention, which can be replayed once it can', async () => {
    const { plain, seal } = open()
    await seal(toText(OLD)).put(item('1'))
    const settled: string[] = []
    const options = {
      concurrency: 1,
      leaseMs: 2_000,
      retentionMs: 1_000,
      clock: systemClock,
      onError: () => {},
      onSettled: (_: unknown, { next }: { readonly next: string }) => void settled.push(next),
    }
    const loop = seal(toText(NEW)).work(async () => DONE, options)
    await until('it is dead', () => settled.length === 1)
    await loop.close(1_000)
    expect((await plain.list('dead')).entries).toMatchObject([{ tries: [{ code: 'expired' }] }])
    const knowing = seal(toText(NEW, OLD))
    expect(await knowing.replay('k1')).toBe(true)
    const ran: string[] = []
    work(knowing, ({ bytes }) => {
      ran.push(body(bytes))
      return DONE
    })
    await until('it ran', () => ran.length === 1)
    expect(ran).toEqual([body(item('1').bytes)])
  })

  it('lets no key service that hangs hold up the others', async () => {
    const { plain, seal } = open()
    const never = new Promise<never>(() => {})
    const inbox = seal({ current: () => OLD, find: (_, account) => (account === 'slow' ? never : OLD) })
    await inbox.put({ ...item('1'), accountKey: 'slow' })
    await inbox.put(item('2'))
    work(inbox, () => DONE, { concurrency: 1 })
    await until('both had their turn', async () => (await plain.counts()).running === 0 && !(await plain.get('k2')))
    expect((await plain.get('k1'))?.tries).toMatchObject([{ code: 'sealed' }])
  })

  it('holds the lane of an event whose key is not there for five minutes, in which a rotation ends', async () => {
    const { plain, seal, hurry } = open()
    for (const id of ['1', '2']) await seal(toText(OLD)).put({ ...item(id), lane: 'a' })
    let movedMs = 0
    const clock = { ...systemClock, now: () => systemClock.now() + movedMs }
    const loop = work(seal(toText(NEW)), () => DONE, { clock })
    const tryAt = async (ms: number) => {
      movedMs = ms
      hurry()
      await until(
        'it was put off',
        async () => ((await plain.get('k1'))?.tries[0]?.endedAt ?? 0) >= Date.now() + ms - 1_000,
      )
    }
    await tryAt(0)
    await tryAt(290_000)
    expect(await plain.counts()).toMatchObject({ waiting: 2, parked: 1 })
    await tryAt(310_000)
    await until('the next one is free', async () => (await plain.counts()).parked === 0)
    await loop.close(1_000)
  })

  it('asks for a key once for each account on a page, however many errors it opens', async () => {
    const asked: string[] = []
    const find = (_: string, account: string) => {
      asked.push(account)
      return NEW
    }
    const inbox = open().seal({ current: () => NEW, find })
    for (const [id, accountKey] of [
      ['1', 'a'],
      ['2', 'a'],
      ['3', 'b'],
    ] as const)
      await inbox.put({ ...item(id), accountKey })
    const loop = work(inbox, (taken) =>
      taken.tries.length === 2 ? bury(taken) : { next: 'wait', afterMs: 0, isFailure: true, tried: tried(taken) },
    )
    await until('all are dead', async () => (await inbox.counts()).dead === 3)
    await loop.close(1_000)
    asked.length = 0
    const { entries } = await inbox.list('dead')
    expect(entries.flatMap(({ tries }) => tries.map(({ error }) => error))).toEqual(Array(9).fill('it failed'))
    expect(asked.sort()).toEqual(['a', 'b'])
  })

  it('removes an event whose key was destroyed, and says so', async () => {
    const { plain, seal, lines } = open()
    await seal(toText(OLD)).put(item('1'))
    const ran: string[] = []
    work(seal({ current: () => NEW, find: () => 'erased' }), ({ key }) => {
      ran.push(key)
      return DONE
    })
    await until('it is gone', async () => (await plain.get('k1')) === undefined)
    expect([ran, lines.map(({ message }) => message)]).toEqual([
      [],
      [expect.stringContaining('was destroyed. It was removed, as is each')],
    ])
  })

  it('accepts nothing if the current key cannot be had, and stores no error that it cannot seal', async () => {
    const { plain, seal } = open()
    let isAway = false
    const current = () => (isAway ? Promise.reject(new Error('the keys are away')) : NEW)
    const inbox = seal({ current, find: () => NEW })
    await inbox.put(item('1'))
    isAway = true
    await expect(inbox.put(item('2'))).rejects.toThrow('the keys are away')
    work(inbox, (taken) => bury(taken))
    await until('it is dead', async () => (await plain.counts()).dead === 1)
    const entry = await plain.get('k1')
    expect([entry?.tries.map(({ error }) => error), await plain.get('k2')]).toEqual([[undefined], undefined])
  })

  it.each([
    ['', 'nothing'],
    ['2026-11', 'no key'],
    [`2026-11:${randomBytes(16).toString('base64')}`, 'a short key'],
    [`a b:${NEW.bytes.toString('base64')}`, 'a name with a blank'],
    [toText(NEW, NEW), 'a name twice'],
  ])('refuses keys such as %j: %s, without their text', (keys) => {
    const refusal = { code: 'option_invalid', message: expect.stringContaining('openssl rand -base64 32') }
    expect(() => open().seal(keys)).toThrow(expect.objectContaining(refusal))
    expect(() => open().seal(keys)).not.toThrow(NEW.bytes.toString('base64'))
  })
})
