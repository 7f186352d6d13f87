import { consoleLogger, createReceiver, memoryStore, type Outcome, type StandardSchema } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it, vi } from 'vitest'
import { Bench, counting, gated, type Line, linesInto, raise, rejecting, SECRET, watchRejections } from './support.ts'

watchRejections()

const misbehaviours: [string, () => unknown, cause: unknown][] = [
  ['throws an error', raise(new Error('no')), new Error('no')],
  ['rejects with an error', () => Promise.reject(new Error('no')), new Error('no')],
  ['rejects with what has no text', () => Promise.reject(Object.create(null)), Object.create(null)],
]

/** One delivery of each kind, and the outcomes that they must have whatever the hooks do. */
async function deliverAll(bench: Bench): Promise<void> {
  bench.receiver
    .on('contact.created', () => {})
    .on('contact.updated', raise(new Error('no')))
    .on('contact.deleted', () => new Promise(() => {}))
  const done = events.contact.created()
  const codes: unknown[] = []
  for (const sent of [
    bench.send(done),
    bench.send(done),
    bench.send(events.syncCompleted()),
    bench.send(events.contact.updated()),
    bench.send(events.contact.created(), { tamper: 'flip-bit' }),
  ])
    codes.push((await sent).outcome)
  const late = bench.send(events.contact.deleted())
  await bench.clock.advance(8_000)
  codes.push((await late).outcome)
  expect(codes).toEqual(['handled', 'handled', 'ignored', 'failed', 'rejected', 'late'])
  await bench.clock.advance(100_000)
  await bench.expectAtRest()
}

describe.each(misbehaviours)('a hook that %s changes nothing, and is reported once:', (_what, misbehave, cause) => {
  it('onOutcome', async () => {
    const bench = new Bench({ onOutcome: misbehave })
    await deliverAll(bench)
    expect(bench.codes.filter((code) => code === 'hook_failed')).toEqual(['hook_failed'])
    const error = bench.errors.find(({ code }) => code === 'hook_failed')
    expect(error).toMatchObject({ message: expect.stringContaining('onOutcome threw') })
    expect(error?.cause).toEqual(cause)
  })

  it('onError', async () => {
    const bench = new Bench({ onError: misbehave })
    await deliverAll(bench)
    const lines = bench.lines.filter(({ fields }) => fields.code === 'hook_failed')
    expect(lines).toHaveLength(1)
    expect(lines[0]?.message).toContain('onError threw')
  })

  it('the logger', async () => {
    const bench = new Bench({ logger: { debug: misbehave, info: misbehave, warn: misbehave, error: misbehave } })
    await deliverAll(bench)
    expect(bench.codes.filter((code) => code === 'hook_failed')).toEqual(['hook_failed'])
  })
})

it('a logger that throws does not prevent a receiver, or the store that reports through it', async () => {
  vi.stubEnv('NODE_ENV', 'production')
  try {
    const fail = raise(new Error('disk full'))
    const errors: unknown[] = []
    const store = memoryStore({ max: 2 })
    const receiver = createReceiver({
      secret: SECRET,
      store,
      logger: { debug: fail, info: fail, warn: fail, error: fail },
      onError: ({ code }) => errors.push(code),
    })
    receiver.on('*', () => {})
    for (let count = 0; count < 5; count++)
      expect(await receiver.dispatch(events.syncCompleted())).toMatchObject({ outcome: 'handled' })
    expect(store.earlyDrops).toBeGreaterThan(0)
    expect(errors).toEqual(['hook_failed'])
  } finally {
    vi.unstubAllEnvs()
  }
})

describe('lines', () => {
  it('about refusals appear once a second for each kind, with the number of those left out', async () => {
    const { bench } = counting()
    for (let count = 0; count < 50; count++) {
      await bench.send(events.syncCompleted(), { tamper: 'flip-bit' })
      await bench.send(events.syncCompleted(), { tamper: 'short' })
    }
    expect(bench.lines.map(({ level, fields }) => [level, fields.code])).toEqual([
      ['warn', 'signature_mismatch'],
      ['warn', 'signature_malformed'],
    ])
    await bench.clock.advance(1_000)
    await bench.send(events.syncCompleted(), { tamper: 'flip-bit' })
    await bench.send(events.syncCompleted(), { tamper: 'flip-bit' })
    expect(bench.lines).toHaveLength(3)
    expect(bench.lines[2]?.fields).toMatchObject({ code: 'signature_mismatch', alikeSinceLastLine: 49 })
    expect(bench.outcomes).toHaveLength(102)
  })

  it.each([
    ['handled', 'debug', events.contact.created()],
    ['ignored', 'debug', events.exportCompleted()],
    ['duplicate', 'debug', undefined],
  ])('about a delivery that is %s have the level debug', async (outcome, level, event) => {
    const bench = new Bench()
    bench.receiver.on('contact.*', () => {})
    const done = events.contact.created()
    if (event === undefined) await bench.send(done)
    bench.lines.length = 0
    await bench.send(event ?? done, { source: 'tenant-1' })
    const { id, type } = event ?? done
    expect(bench.lines).toEqual([
      { level, message: outcome, fields: { status: 200, id, type, accountKey: 'acme', source: 'tenant-1' } },
    ])
  })

  const secretText = 'a record that nobody may read'
  const texts = (lines: readonly Line[]) =>
    JSON.stringify(lines, (_key, value) =>
      value instanceof Error ? { ...value, message: value.message, stack: value.stack } : value,
    )

  it('contain no secret, no signature and no record, whatever the outcome of the delivery', async () => {
    const bench = new Bench({
      secret: [SECRET, { secret: 'whsec_bound', accountKey: 'globex' }],
      models: {
        opportunity: {
          '~standard': {
            version: 1,
            vendor: 'test',
            validate: (value: unknown) => ({ issues: [{ message: `bad: ${JSON.stringify(value)}`, path: ['title'] }] }),
          },
        },
      },
    })
    bench.receiver.on('*', ({ type }) => {
      if (type === 'contact.updated') throw new Error('no')
      return type === 'sync.failed' ? new Promise(() => {}) : undefined
    })
    const signatures: string[] = []
    const { sign } = await import('postern')
    const deliver = async (event: Parameters<Bench['send']>[0], options: Parameters<Bench['send']>[1] = {}) => {
      const body = typeof event === 'string' ? event : JSON.stringify(event)
      for (const secret of [SECRET, 'whsec_bound']) signatures.push(sign(body, secret).slice('sha256='.length))
      const sent = bench.send(body, options)
      await bench.clock.advance(0)
      return sent
    }
    const record = { lastName: secretText }
    await deliver(events.contact.created(record))
    await deliver(events.contact.updated(record))
    await deliver(events.contact.created(record), { tamper: 'flip-bit' })
    await deliver(events.contact.created(record), { tamper: 'short' })
    await deliver(events.contact.created(record, { accountKey: 'acme' }), { secret: 'whsec_bound' })
    await deliver(events.model('opportunity').created({ title: secretText }))
    await deliver(`{"id":"${secretText}`)
    bench.store.plan('claim', rejecting)
    await deliver(events.contact.created(record))
    bench.send(events.syncFailed({ vendor: secretText }))
    await bench.clock.advance(100_000)
    const text = texts(bench.lines)
    expect(bench.lines.length).toBeGreaterThan(8)
    expect(text).not.toContain(secretText)
    expect(text).not.toContain(SECRET)
    expect(text).not.toContain('whsec_bound')
    for (const signature of signatures) expect(text).not.toContain(signature)
    expect(bench.outcomes.find(({ type }) => type === 'opportunity.created')).toMatchObject({
      issues: [{ path: 'title', message: expect.stringContaining(secretText) }],
    })
  })

  it('escape what a sender writes into id, type or account', async () => {
    const written: string[] = []
    const write = vi
      .spyOn(console, 'error')
      .mockImplementation((...parts) => void written.push(parts.map(String).join(' ')))
    const warn = vi
      .spyOn(console, 'warn')
      .mockImplementation((...parts) => void written.push(parts.map(String).join(' ')))
    try {
      const bench = new Bench({ logger: consoleLogger, handlerTimeoutMs: 1_000 })
      bench.receiver.on('*', ({ type }) => {
        if (type.startsWith('hang')) return new Promise(() => {})
        throw new Error('no')
      })
      const controls = 'x\n\r\u001b[31m\u0000\u007f\u009b\u2028\u2029\u202e'
      await bench.send(events.raw(`fail${controls}`, {}, { id: `i${controls}`, accountKey: `a${controls}` }))
      await bench.send(events.raw(`${controls}.created`, {}, { id: `i${controls}` }))
      bench.send(events.raw(`hang${controls}`, {}, { id: `j${controls}` }))
      await bench.clock.advance(20_000)
      expect(written.length).toBeGreaterThanOrEqual(4)
      for (const line of written) {
        const [first = ''] = line.split('\n')
        expect(first).toMatch(/^postern: [^\p{Cc}\u2028\u2029]*$/u)
        for (const control of '\r\u001b\u0000\u007f\u009b\u2028\u2029') expect(line).not.toContain(control)
      }
      expect(bench.errors.map(({ message }) => /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(message))).not.toContain(true)
    } finally {
      write.mockRestore()
      warn.mockRestore()
    }
  })
})

it('onOutcome cannot change the answer', async () => {
  const bench = new Bench({ onOutcome: (outcome: object) => Object.assign(outcome, { status: 200, code: 'fine' }) })
  bench.receiver.on('*', raise(new Error('no')))
  expect(await bench.send(events.contact.created())).toMatchObject({ status: 500, code: 'handler_failed' })
  expect(await bench.send(events.contact.created(), { tamper: 'flip-bit' })).toMatchObject({ status: 401 })
})

it('the default logger gets warnings and errors only', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const spies = [
    vi.spyOn(console, 'log'),
    vi.spyOn(console, 'info'),
    vi.spyOn(console, 'debug'),
    vi.spyOn(console, 'error'),
  ]
  try {
    const { bench } = counting({ logger: undefined })
    await bench.send(events.syncCompleted())
    await bench.send(events.syncCompleted(), { tamper: 'flip-bit' })
    expect(warn).toHaveBeenCalledTimes(1)
    expect(warn.mock.calls[0]).toEqual([expect.stringMatching(/^postern: delivery refused: .*signature_mismatch/)])
    for (const spy of spies) expect(spy).not.toHaveBeenCalled()
  } finally {
    for (const spy of [warn, ...spies]) spy.mockRestore()
  }
})

describe('the lines of the log', () => {
  const told = (bench: Bench) => bench.lines.map(({ level, fields, message }) => [level, fields, message])
  const about = ({ id, type, accountKey }: ReturnType<typeof events.raw>) => ({ id, type, accountKey })

  it.each([
    ['in production only count the issues of a refused record: their paths may be keys that its sender chose', false],
    ['in development also name the first paths', true],
  ])('%s', async (_what, isDevelopment) => {
    vi.stubEnv('NODE_ENV', isDevelopment ? 'development' : 'production')
    const key = `zoe@example.test ${'x'.repeat(200)}`
    const issues = Array.from({ length: 24 }, () => ({ message: 'no', path: [key, 'score'] }))
    const contact: StandardSchema = { '~standard': { version: 1, vendor: 'x', validate: () => ({ issues }) } }
    const bench = new Bench({ models: { contact } })
    bench.receiver.on('contact.created', () => {})
    await bench.send(events.contact.created())
    const paths = isDevelopment ? Array(10).fill(key.slice(0, 100)) : undefined
    expect(told(bench)[0]?.[1]).toMatchObject({ issues: 24, ...(paths && { paths }) })
    expect(JSON.stringify(told(bench)).includes('zoe')).toBe(isDevelopment)
    expect(bench.outcomes[0]).toMatchObject({ issues: expect.objectContaining({ length: 24 }) })
  })

  it('report a late event at the deadline and at its end, and the duplicate that it joined', async () => {
    const { bench, gate } = gated()
    const event = events.contact.created()
    bench.send(event)
    await bench.clock.advance(8_000)
    const copy = bench.send(event)
    await bench.clock.advance(0)
    gate.open(undefined)
    await copy
    expect(told(bench)).toEqual([
      ['warn', { status: 503, ...about(event) }, expect.stringContaining('handlers are still running at the deadline')],
      ['debug', { status: 200, ...about(event), late: true }, 'handled'],
      ['debug', { status: 200, ...about(event), joined: true }, 'handled'],
    ])
  })

  it('name the account whose event was deferred, once a second', async () => {
    const { bench, gate } = gated({ maxInFlight: 1 })
    const sent = bench.send(events.contact.created())
    await bench.clock.advance(0)
    const event = events.contact.created()
    for (let count = 0; count < 3; count++) await bench.send(count === 0 ? event : events.contact.created())
    expect(told(bench)).toEqual([
      [
        'warn',
        { status: 503, ...about(event) },
        expect.stringMatching(/delivery deferred: 1 events are under way, .* maxInFlight \(1\) .* raise maxInFlight/),
      ],
    ])
    gate.open(undefined)
    await sent
  })

  it('report a failure once, with its error', async () => {
    const bench = new Bench()
    bench.receiver.on('*', () => Promise.reject(new Error('no')))
    const event = events.contact.created()
    await bench.send(event)
    const { id, type, accountKey } = event
    const fields = { code: 'handler_failed', id, type, accountKey, err: bench.errors[0] }
    expect(told(bench)).toEqual([['error', fields, expect.stringContaining('failed: *')]])
  })

  it('about a secrets function that fails contain its error, and how often it was left out', async () => {
    const { bench } = counting({ secret: () => Promise.reject(new Error('vault sealed')) })
    await bench.send(events.contact.created())
    await bench.send(events.contact.created())
    await bench.clock.advance(1_000)
    await bench.send(events.contact.created())
    expect(told(bench)).toStrictEqual([
      ['error', { code: 'secrets_unavailable', err: bench.errors[0] }, expect.stringContaining('vault sealed')],
      ['error', { code: 'secrets_unavailable', err: bench.errors[2], alikeSinceLastLine: 1 }, expect.any(String)],
    ])
  })
})

const fail = (): never => {
  throw new Error('no')
}

it('a hook that fails gets no report of its own failure', async () => {
  const seen: unknown[] = []
  const onError = ({ code }: { readonly code: string }) => {
    seen.push(code)
    fail()
  }
  const logger = {
    ...linesInto([]),
    error: ({ code }: { readonly code?: unknown }) => {
      seen.push(`logged ${code}`)
      fail()
    },
  }
  for (const hooks of [{ onError }, { logger }]) {
    const bench = new Bench(hooks)
    bench.receiver.on('*', fail)
    await bench.send(events.contact.created())
  }
  expect(seen).toEqual(['handler_failed', 'logged handler_failed'])
})

it('keeps changes of a hook to one issue from all other deliveries', async () => {
  const messages = new Set<unknown>()
  const bench = new Bench({
    onOutcome: (outcome: Outcome) => {
      if (outcome.outcome !== 'rejected') return
      for (const issue of outcome.issues) {
        messages.add(issue.message)
        Object.assign(issue, { message: 'redacted' })
      }
    },
  })
  bench.receiver.on('*', () => {})
  for (let turn = 0; turn < 2; turn++) await bench.send({ ...events.contact.created(), data: {} })
  expect([[...messages], bench.codes]).toEqual([['Expected an object with a string "_id".'], ['hook_failed']])
})
