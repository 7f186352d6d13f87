import { DeadLetter, type Inbox, type Logger, RetryLater, type StandardSchema } from 'postern'
import { events, manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { type Line, linesInto } from '../receiver/support.ts'
import { Scene, until } from './scene.ts'

type Options = ConstructorParameters<typeof Scene>[0]

/** A scene whose lines above the level debug are kept. */
function open(options: Options = {}) {
  const lines: Line[] = []
  const scene = new Scene({ logger: linesInto(lines) as Logger, ...options })
  const told = () => lines.filter(({ level }) => level !== 'debug')
  return { scene, told, lines }
}

const event = events.contact.created({ email: 'zoe@example.test' })
const who = `"contact.created" "${event.id}"`
const about = { id: event.id, type: event.type, accountKey: event.accountKey }
const refusing: StandardSchema = {
  '~standard': {
    version: 1,
    vendor: 'x',
    validate: (value) => ({ issues: [{ path: ['email'], message: `not ${JSON.stringify(value)}` }] }),
  },
}
const boom = () => {
  throw new Error('boom')
}

async function workOff({ scene }: ReturnType<typeof open>, attempts = 2): Promise<void> {
  await scene.deliver(event)
  scene.work({ attempts, delay: () => 0 })
  await scene.untilIdle()
  await scene.receiver.close()
}

describe('one line tells of each try of an event that the inbox accepted:', () => {
  it('a failed one is a warning, which says which try it was, why it failed and when the next comes', async () => {
    const { scene, told } = open()
    scene.receiver.on('contact.created', { name: 'save' }, boom)
    await scene.deliver(event)
    scene.work({ delay: () => 10_000 })
    await until('it has failed', () => told().length > 0)
    await scene.receiver.close()
    expect(told()).toEqual([
      {
        level: 'warn',
        message: `${who}: try 1 of 10 failed, next in 10 s (handler_failed). Handlers of "contact.created" failed: save.`,
        fields: { code: 'handler_failed', ...about, source: undefined, err: scene.errors[0] },
      },
    ])
    expect(scene.errors).toMatchObject([{ code: 'handler_failed', cause: new Error('boom') }])
  })

  it('a record that the schema refuses is a failed try, reported to onError from the first on', async () => {
    const { scene, told } = open({ models: { contact: refusing } })
    scene.receiver.on('contact.created', () => {})
    await scene.deliver(event)
    scene.work({ delay: () => 10_000 })
    await until('it has failed', () => told().length > 0)
    await scene.receiver.close()
    expect(told()).toMatchObject([
      {
        level: 'warn',
        message: expect.stringMatching(/: try 1 of 10 failed, next in 10 s \(invalid_record\)\. .*schema/),
        fields: { code: 'invalid_record', ...about, issues: 1, paths: ['email'] },
      },
    ])
    expect(JSON.stringify(told())).not.toMatch(/zoe|refused|422|status/)
    expect(scene.errors).toMatchObject([{ code: 'schema_failed', message: expect.stringContaining('onOutcome') }])
    expect(scene.outcomes.at(-1)).toMatchObject({
      outcome: 'rejected',
      code: 'invalid_record',
      issues: [{ path: 'email' }],
    })
  })

  it.each<[string, Options, (scene: Scene) => unknown, code: string, why: RegExp, errors: string[]]>([
    [
      'whose handlers fail',
      {},
      ({ receiver }) => receiver.on('*', { name: 'save' }, boom),
      'handler_failed',
      /failed: save\./,
      ['handler_failed', 'handler_failed', 'dead_letter'],
    ],
    [
      'whose record does not fit',
      { models: { contact: refusing } },
      ({ receiver }) => receiver.on('contact.created', () => {}),
      'invalid_record',
      /does not match the schema/,
      ['schema_failed', 'schema_failed', 'dead_letter'],
    ],
    [
      'whose schema throws',
      { models: { contact: { '~standard': { version: 1, vendor: 'x', validate: boom } } } },
      ({ receiver }) => receiver.on('contact.created', () => {}),
      'schema_failed',
      /neither an output nor issues/,
      ['schema_failed', 'schema_failed', 'dead_letter'],
    ],
    [
      'whose handlers time out and do not listen',
      { handlerTimeoutMs: 1_000 },
      ({ receiver }) => receiver.on('*', { name: 'save' }, (_event, { signal }) => hang(signal)),
      'handler_failed',
      /ran for 1000 ms \(handlerTimeoutMs\)\. .*failed: save\./,
      ['handler_timeout', 'handler_failed', 'handler_timeout', 'handler_failed', 'dead_letter'],
    ],
    [
      'that a handler gives up',
      {},
      ({ receiver }) =>
        receiver.on('*', { name: 'save' }, () => {
          throw new DeadLetter('the customer does not exist')
        }),
      'dead_letter',
      /DeadLetter was thrown by: save\./,
      ['dead_letter'],
    ],
  ])('a dead letter %s has one error line, with what to do', async (_what, options, register, code, why, errors) => {
    const opened = open(options)
    const { scene, told } = opened
    register(scene)
    await workOff(opened)
    const dead = told().filter(({ level }) => level === 'error')
    expect(dead).toHaveLength(1)
    expect(told().length).toBe(code === 'dead_letter' ? 1 : 2)
    expect(dead[0]?.fields).toMatchObject({ code: 'dead_letter', ...about, err: scene.errors.at(-1) })
    const tries = code === 'dead_letter' ? '1 try' : '2 tries'
    expect(dead[0]?.message).toContain(`${who} is a dead letter after ${tries} (${code}).`)
    expect(dead[0]?.message).toMatch(why)
    expect(dead[0]?.message).toMatch(
      / To look at it: npx postern inbox show .* To try again: npx postern inbox replay /,
    )
    expect(scene.errors.map((error) => error.code)).toEqual(errors)
    expect(scene.dead).toMatchObject([{ item: { id: event.id }, error: scene.errors.at(-1) }])
    expect(JSON.stringify(told().map(({ message }) => message))).not.toContain('zoe')
  })

  it.each([
    [0, 'info', ''],
    [60, 'warn', ' RetryLater takes milliseconds.'],
  ] as const)(
    'an event that a handler puts off for %d ms says until when, and is no error',
    async (ms, level, hint) => {
      const opened = open()
      const { scene, told } = opened
      let runs = 0
      scene.receiver.on('*', () => {
        if (++runs === 1) throw new RetryLater(ms)
      })
      await workOff(opened)
      expect(told()).toMatchObject([
        { level, message: `${who}: put off by RetryLater, next try in 100 ms; this one does not count.${hint}` },
      ])
      expect(scene.errors).toEqual([])
    },
  )

  it.each([
    ['RetryLater', () => new RetryLater(0), 'warn', 'put off by RetryLater'],
    ['DeadLetter', () => new DeadLetter('no'), 'error', 'is a dead letter after 1 try (dead_letter)'],
  ] as const)('%s works as well if it is returned, and says so', async (_name, make, level, told) => {
    const opened = open()
    let runs = 0
    opened.scene.receiver.on('*', async () => (++runs === 1 ? make() : undefined))
    await workOff(opened)
    const [line] = opened.told()
    expect(line).toMatchObject({ level, message: expect.stringContaining(told) })
    expect(line?.message).toContain('was returned, and counts as thrown')
  })

  it('an event put off beyond the retention of its marks says why it is a dead letter', async () => {
    const opened = open()
    opened.scene.receiver.on('*', () => {
      throw new RetryLater(30 * 86_400_000)
    })
    await workOff(opened)
    expect(opened.told()).toMatchObject([
      { level: 'error', message: expect.stringMatching(/after 1 try \(expired\)\. .*retentionMs/) },
    ])
  })

  it('handlers that a closing worker stops are a warning, once', async () => {
    const { scene, told } = open()
    let begun = false
    scene.receiver.on('*', (_event, { signal }) => {
      begun = true
      return hang(signal)
    })
    await scene.deliver(event)
    const worker = scene.work()
    await until('it runs', () => begun)
    await worker.close({ timeoutMs: 0 })
    expect(told()).toMatchObject([
      {
        level: 'warn',
        message: expect.stringMatching(/: The handlers of .* close\(\) ended\. The event returns to the inbox/),
        fields: { code: 'worker_closed' },
      },
    ])
    expect(scene.errors.map(({ code }) => code)).toEqual(['worker_closed'])
  })

  it('a store that is away is an error that says when the next try comes, and not that the sender retries', async () => {
    const { scene, told } = open()
    scene.receiver.on('*', () => {})
    await scene.deliver(event)
    scene.database.exec('ALTER TABLE postern_events RENAME TO away')
    scene.work()
    await until('it is told', () => told().length > 0)
    await scene.receiver.close()
    expect(told()).toMatchObject([
      {
        level: 'error',
        message: expect.stringMatching(
          /: not finished here, next try in 5 s; this one does not count \(store_unavailable\)\. /,
        ),
        fields: { code: 'store_unavailable', ...about },
      },
    ])
    expect(told()[0]?.message).not.toContain('sender')
    expect(scene.errors.map(({ code }) => code)).toEqual(['store_unavailable'])
  })

  it('an item that another worker took while it ran here is a warning', async () => {
    const { scene, told } = open()
    // Other processes do this while this one is suspended.
    scene.receiver.on('*', () => void scene.database.exec("UPDATE postern_inbox SET worker = 'another'"))
    await scene.deliver(event)
    scene.work()
    await until('it is told', () => told().length > 0)
    expect(told()).toMatchObject([
      { level: 'warn', message: expect.stringContaining(`"${event.id}" was taken by another worker`) },
    ])
    scene.database.exec('DELETE FROM postern_inbox')
  })

  it('a type without a handler is a failed try that says so', async () => {
    const accepting = open()
    accepting.scene.receiver.on('*', () => {})
    await accepting.scene.deliver(event)
    for (const register of [() => {}, (scene: Scene) => scene.receiver.on('contact.deleted', () => {})]) {
      const lines: Line[] = []
      const working = new Scene({ logger: linesInto(lines), name: 'default' }, accepting.scene.path)
      register(working)
      working.work({ delay: () => 10_000 })
      await until('it is told', () => lines.some(({ level }) => level === 'warn'))
      await working.receiver.close()
      expect(lines.filter(({ level }) => level !== 'debug')).toMatchObject([
        {
          level: 'warn',
          message: expect.stringMatching(
            /try 1 of 10 failed, next in 10 s \(no_handlers\)\. No handler of this worker/,
          ),
        },
      ])
      expect(working.errors.map(({ code }) => code)).toEqual(['no_handlers'])
      const [waiting] = (await working.inbox.list('waiting')).entries
      accepting.scene.database.exec('UPDATE postern_inbox SET failures = 0, due_at = 0')
      expect(waiting).toMatchObject({ failures: 1 })
    }
  })

  it('an event that is handled after all tells what went wrong on the way', async () => {
    const opened = open({ handlerTimeoutMs: 1_000 })
    opened.scene.receiver.on(
      '*',
      (_event, { signal }) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
    )
    await workOff(opened)
    expect(opened.told()).toMatchObject([
      {
        level: 'error',
        message: expect.stringMatching(/was handled\. .* 1000 ms/),
        fields: { code: 'handler_timeout' },
      },
    ])
  })
})

it('reports an engine that fails once a minute, with its error', async () => {
  const clock = manualClock()
  const { inbox } = new Scene()
  let fail: (error: unknown) => void = () => expect.unreachable('no worker was started')
  const work: Inbox['work'] = (run, options) => {
    fail = options.onError
    return inbox.work(run, options)
  }
  const scene = new Scene({ clock, inbox: { ...inbox, work } })
  scene.work()
  const error = new Error('away')
  const counts: number[] = []
  for (const ms of [0, 59_999, 1, 59_999, 1]) {
    await clock.advance(ms)
    fail(error)
    counts.push(scene.errors.length)
  }
  expect(counts).toEqual([1, 1, 2, 2, 3])
  expect(scene.errors[0]).toMatchObject({ code: 'inbox_unavailable', cause: error })
})

function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
}
