import { execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DeadLetter, type StandardSchema, sign } from 'postern'
import { openSqlite } from 'postern/sqlite'
import { events } from 'postern/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { AT_ONCE, makePath, Scene, SECRET, until } from './scene.ts'

const event = events.contact.created

/** Fails as often as the test says, and then succeeds. */
function failing(times: number, makeError: () => unknown = () => new Error('not yet')) {
  let runs = 0
  return {
    handler: () => {
      if (++runs <= times) throw makeError()
    },
    get runs() {
      return runs
    },
  }
}

describe('a delivery to a receiver with an inbox', () => {
  it('is accepted once it is on disk, and handled by a worker', async () => {
    const scene = new Scene()
    const seen: string[] = []
    scene.receiver.on('contact.created', async ({ id }) => void seen.push(id))
    const sent = event()
    expect(await scene.deliver(sent)).toMatchObject({ outcome: 'accepted', status: 200, id: sent.id })
    expect(seen).toEqual([])
    expect(await scene.inbox.counts()).toMatchObject({ waiting: 1 })
    scene.work()
    await scene.untilIdle()
    expect(seen).toEqual([sent.id])
    expect(scene.outcomes.map(({ outcome }) => outcome)).toEqual(['accepted', 'handled'])
    expect(scene.errors).toEqual([])
  })

  it('is ignored, and not stored, if no handler matches its type', async () => {
    const scene = new Scene()
    scene.receiver.on('contact.deleted', () => {})
    expect(await scene.deliver(event())).toMatchObject({ outcome: 'ignored', status: 200 })
    expect(await scene.inbox.counts()).toMatchObject({ waiting: 0 })
  })

  it('is refused as without an inbox if its signature does not hold', async () => {
    const scene = new Scene()
    scene.receiver.on('*', () => {})
    const body = Buffer.from(JSON.stringify(event()))
    expect(await scene.receiver.receive({ body, signature: `sha256=${'0'.repeat(64)}` })).toMatchObject({ status: 401 })
    expect(await scene.inbox.counts()).toMatchObject({ waiting: 0 })
  })

  it('is accepted as often as it arrives, and handled once', async () => {
    const scene = new Scene()
    let count = 0
    scene.receiver.on('*', () => void count++)
    const sent = event()
    for (const { outcome } of await Promise.all(Array.from({ length: 20 }, () => scene.deliver(sent))))
      expect(outcome).toBe('accepted')
    scene.work()
    await scene.untilIdle()
    expect(await scene.deliver(sent)).toMatchObject({ outcome: 'accepted' })
    await scene.untilIdle()
    expect(count).toBe(1)
    expect(scene.outcomes.at(-1)).toMatchObject({ outcome: 'duplicate' })
  })

  it('is answered 503 if the inbox cannot store it, and nothing counts as accepted', async () => {
    const scene = new Scene()
    scene.receiver.on('*', () => {})
    const other = openSqlite(scene.path)
    other.exec('BEGIN IMMEDIATE')
    const answer = await scene.deliver(event())
    other.exec('ROLLBACK')
    other.close()
    expect(answer).toMatchObject({ outcome: 'failed', status: 503, code: 'inbox_unavailable' })
    expect(scene.errors.map(({ code }) => code)).toEqual(['inbox_unavailable'])
    expect(await scene.inbox.counts()).toMatchObject({ waiting: 0 })
    expect(await scene.deliver(event())).toMatchObject({ outcome: 'accepted' })
  })

  it('is answered 503 within the deadline if the inbox does not answer', async () => {
    const inbox = { ...new Scene().inbox, put: () => new Promise<void>(() => {}) }
    const scene = new Scene({ inbox, deadlineMs: 300 })
    scene.receiver.on('*', () => {})
    expect(await scene.deliver(event())).toMatchObject({ status: 503, code: 'inbox_unavailable' })
  })

  it('keeps its source for the handlers', async () => {
    const scene = new Scene()
    let source: string | undefined
    scene.receiver.on('*', (_event, context) => {
      source = context.source
    })
    const body = Buffer.from(JSON.stringify(event()))
    await scene.receiver.receive({ body, signature: sign(body, SECRET), source: 'shop' })
    scene.work()
    await scene.untilIdle()
    expect(source).toBe('shop')
  })
})

describe('an event that fails', () => {
  it('is retried, and only the handlers that did not finish run', async () => {
    const scene = new Scene()
    const flaky = failing(2)
    let others = 0
    scene.receiver.on('contact.created', { name: 'flaky' }, flaky.handler).on('contact.*', () => void others++)
    await scene.deliver(event())
    scene.work()
    await scene.untilIdle()
    expect([flaky.runs, others]).toEqual([3, 1])
    expect(scene.errors.map(({ code }) => code)).toEqual(['handler_failed', 'handler_failed'])
    expect(scene.dead).toEqual([])
  })

  it('is a dead letter whose commands a shell reads as they are meant, whatever the path of the file', async () => {
    const path = join(dirname(makePath()), "the $HOME of `id`'s data.db")
    const scene = new Scene({}, path)
    scene.receiver.on('contact.created', () => {
      throw new DeadLetter('never')
    })
    await scene.deliver(event())
    scene.work()
    await until('it is dead', () => scene.dead.length === 1)
    const command = /postern inbox (show .*?)\. To try/.exec(scene.dead[0]?.error.message ?? '')?.[1]
    const words = execFileSync('sh', ['-c', `printf '%s\\n' ${command}`], { encoding: 'utf8' }).split('\n')
    expect(words).toEqual(['show', scene.dead[0]?.item.key, '--sqlite', path, ''])
  })

  it('is a dead letter after the last try, with the commands to inspect and replay it', async () => {
    const scene = new Scene()
    const flaky = failing(3)
    let others = 0
    scene.receiver.on('contact.created', { name: 'flaky' }, flaky.handler).on('contact.*', () => void others++)
    const sent = event()
    await scene.deliver(sent)
    scene.work({ attempts: 3, ...AT_ONCE })
    await until('it is dead', () => scene.dead.length === 1)
    const { item, error } = scene.dead[0] ?? {}
    expect(item).toMatchObject({ id: sent.id, accountKey: sent.accountKey })
    expect(error).toMatchObject({ code: 'dead_letter' })
    expect(error?.message).toMatch(
      /3 tries \(handler_failed\).*postern inbox show 7:default4:acme\d+:evt_\w+ --sqlite \S*app\.db\. .*inbox replay/,
    )
    const entry = await scene.inbox.get(item?.key ?? '')
    expect(entry).toMatchObject({ state: 'dead', marks: ['contact.*'] })
    expect(entry?.tries.map(({ code, n }) => [n, code])).toEqual([
      [1, 'handler_failed'],
      [2, 'handler_failed'],
      [3, 'handler_failed'],
    ])
    expect(entry?.tries[0]?.error).toMatch(/not yet$/)
    expect(await scene.inbox.replay(item?.key ?? '')).toBe(true)
    await scene.untilIdle()
    expect([flaky.runs, others]).toEqual([4, 1])
  })

  it('becomes a dead letter immediately if its handler asks for it', async () => {
    const scene = new Scene()
    const flaky = failing(9, () => new DeadLetter('the customer does not exist'))
    scene.receiver.on('*', flaky.handler)
    vi.stubEnv('POSTERN_DEV', 'a-token-of-postern-dev')
    onTestFinished(() => void vi.unstubAllEnvs())
    await scene.deliver(event())
    scene.work()
    await until('it is dead', () => scene.dead.length === 1)
    expect(flaky.runs).toBe(1)
    expect((await scene.inbox.list('dead')).entries[0]?.tries[0]).toMatchObject({
      code: 'dead_letter',
      handlers: ['*'],
      error: expect.stringMatching(/^DeadLetter: the customer does not exist\n {4}at /), // with its stack in development only
    })
    // One line reports it; the error of its handler is no separate failure.
    expect(scene.errors).toMatchObject([{ code: 'dead_letter', cause: new DeadLetter('the customer does not exist') }])
  })

  it('becomes a dead letter with its message though its stack cannot be read, as if a source map is broken', async () => {
    const scene = new Scene()
    const error = new DeadLetter('the customer does not exist')
    scene.receiver.on('*', () => {
      throw Object.defineProperty(error, 'stack', { get: () => JSON.parse('{') })
    })
    vi.stubEnv('POSTERN_DEV', 'a-token-of-postern-dev')
    onTestFinished(() => void vi.unstubAllEnvs())
    await scene.deliver(event())
    scene.work()
    await until('it is dead', () => scene.dead.length === 1)
    const [entry] = (await scene.inbox.list('dead')).entries
    expect(entry?.tries).toMatchObject([{ code: 'dead_letter', error: 'DeadLetter: the customer does not exist' }])
  })

  it('is retried if its record does not match the schema, so that a looser schema can be deployed', async () => {
    let isLoose = false
    const contact: StandardSchema = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) => (isLoose ? { value } : { issues: [{ message: 'no email', path: ['email'] }] }),
      },
    }
    const scene = new Scene({ models: { contact } })
    let runs = 0
    scene.receiver.on('contact.created', () => void runs++)
    expect(await scene.deliver(event())).toMatchObject({ outcome: 'accepted' })
    scene.work({ attempts: 2, delay: () => 200 })
    await until('it was tried', async () => (await scene.inbox.list('waiting')).entries[0]?.failures === 1)
    isLoose = true
    await scene.untilIdle()
    expect([runs, scene.dead]).toEqual([1, []])
  })
})

describe('the record of a try', () => {
  const thrower = (thrown: unknown) => () => {
    throw thrown
  }
  const refusing: StandardSchema = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: () => ({
        issues: [
          { message: 'is no address', path: ['email'] },
          { message: 'is missing', path: ['name'] },
        ],
      }),
    },
  }

  it.each<
    [
      string,
      readonly (() => unknown)[],
      { readonly code?: string; readonly handlers?: readonly string[]; readonly error: RegExp },
    ]
  >([
    [
      'an error',
      [thrower(new TypeError('not yet'))],
      { code: 'handler_failed', handlers: ['0'], error: /^TypeError: not yet$/ },
    ],
    ['several handlers', [thrower(new Error('a')), thrower('b')], { handlers: ['0', '1'], error: /^Error: a "b"$/ }],
    ['undefined', [thrower(undefined)], { error: /: 0\.$/ }],
    ['a value without a text', [thrower(Object.create(null))], { error: /^an object$/ }],
    ['much text', [thrower(new Error('x'.repeat(2_000)))], { error: /^.{1000}$/ }],
    ['a refused record', [], { code: 'invalid_record', error: /email: is no address\nname: is missing\n/ }],
  ])('tells of %s', async (_what, handlers, { error, ...record }) => {
    const scene = new Scene(handlers.length === 0 ? { models: { contact: refusing } } : {})
    scene.receiver.on('contact.created', { name: 'none' }, () => {})
    for (const [name, handler] of handlers.entries()) scene.receiver.on('*', { name: String(name) }, handler)
    await scene.deliver(event())
    const startedAt = Date.now()
    scene.work({ delay: () => 60_000 })
    const tries = async () => (await scene.inbox.list('waiting')).entries[0]?.tries ?? []
    await until('it was tried', async () => (await tries()).length === 1)
    const [tried] = await tries()
    expect(tried).toMatchObject({ n: 1, worker: expect.any(String), error: expect.stringMatching(error), ...record })
    expect(tried?.endedAt).toBeGreaterThanOrEqual(startedAt)
  })
})

it.each([
  ['done', {}, /state is "done"; give one of waiting, running, dead/],
  ['dead', { limit: -1 }, /limit is -1/],
])('inbox.list refuses %j, %j', async (state, options, message) => {
  await expect(new Scene().inbox.list(state as never, options as never)).rejects.toThrow(message)
})

describe('closing', () => {
  it('a worker returns the items that outlast its time, with their marks, and the next one continues', async () => {
    const scene = new Scene()
    let quick = 0
    let slow = 0
    let isRunning = false
    scene.receiver
      .on('contact.created', { name: 'quick' }, () => void quick++)
      .on('contact.created', { name: 'slow' }, async (_event, { signal }) => {
        isRunning = true
        if (++slow > 1) return
        await new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        })
      })
    await scene.deliver(event())
    const worker = scene.work()
    await until('it runs', () => isRunning)
    expect(await worker.close({ timeoutMs: 20 })).toEqual({ unfinished: 0 })
    const { entries } = await scene.inbox.list('waiting')
    expect(entries).toMatchObject([{ failures: 0, state: 'waiting' }])
    scene.work()
    await scene.untilIdle()
    expect([quick, slow]).toEqual([1, 2])
  })

  it('the receiver closes its workers, and accepted events stay for the next process', async () => {
    const scene = new Scene()
    const ran: string[] = []
    scene.receiver.on('*', async ({ id }) => {
      await sleep(100)
      ran.push(id)
    })
    scene.work({ concurrency: 1 })
    for (let n = 0; n < 3; n++) await scene.deliver(event())
    await until('one runs', async () => (await scene.inbox.counts()).running === 1)
    expect(await scene.receiver.close()).toEqual({ unfinished: 0 })
    expect(ran).toHaveLength(1)
    expect(await scene.inbox.counts()).toMatchObject({ waiting: 2, running: 0 })
    expect(await scene.deliver(event())).toMatchObject({ outcome: 'closing', status: 503 })
  })
})

it('receiver.work is called once, and again when its worker is closed', async () => {
  const { receiver } = new Scene()
  const worker = receiver.work()
  expect(() => receiver.work()).toThrow(/has a worker already/)
  await worker.close()
  await receiver.work().close()
})

it('closes a worker at the end of its block by `await using`, after which the receiver may begin another one', async () => {
  const { receiver } = new Scene()
  {
    await using worker = receiver.work()
    void worker
  }
  await receiver.work().close()
})
