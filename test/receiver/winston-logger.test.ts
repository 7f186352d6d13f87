import { Writable } from 'node:stream'
import pino from 'pino'
import { ConfigurationError, createReceiver, type Logger, winstonLogger } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import winston from 'winston'
import { SECRET } from './support.ts'

/** Collects lines of JSON. */
function collect() {
  const lines: Readonly<Record<string, unknown>>[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      for (const line of String(chunk).split('\n').filter(Boolean)) lines.push(JSON.parse(line))
      done()
    },
  })
  return { lines, stream }
}

function openWinston(format = winston.format.json()) {
  const { lines, stream } = collect()
  const logger = winston.createLogger({
    level: 'debug',
    format,
    transports: [new winston.transports.Stream({ stream })],
  })
  return { lines, logger }
}

/** Handles an event, fails another, and refuses a third. */
async function play(logger: Logger): Promise<void> {
  const receiver = createReceiver({ secret: SECRET, logger })
  receiver
    .on('contact.created', () => {})
    .on('contact.updated', () => {
      throw new Error('boom', { cause: new Error('inner') })
    })
  await receiver.dispatch(events.contact.created({}, { id: 'evt_1' }))
  await receiver.dispatch(events.contact.updated({}, { id: 'evt_2' }))
  await receiver.receive({ body: Buffer.from('{}'), signature: undefined })
}

describe('winstonLogger', () => {
  it.each([
    ['a logger', (logger: winston.Logger) => logger],
    ['a child', (logger: winston.Logger) => logger.child({ service: 'crm' })],
  ])('writes the message, the fields, and errors with stack and causes, to %s', async (_what, from) => {
    const { lines, logger } = openWinston()
    await play(winstonLogger(from(logger)))
    expect(lines).toMatchObject([
      { level: 'debug', message: 'handled', id: 'evt_1' },
      { level: 'error', message: 'Handlers of "contact.updated" failed: contact.updated.', code: 'handler_failed' },
      { level: 'warn', message: expect.stringMatching(/^delivery refused: /), code: 'signature_missing', status: 401 },
    ])
    expect(lines[1]?.err).toMatch(
      /HandlerError: Handlers of .* failed[\s\S]*\[cause\]: Error: boom\n[\s\S]*Error: inner\n/,
    )
  })

  it('refuses a logger that lacks a level, such as one with the levels of syslog', () => {
    const logger = winston.createLogger({ levels: winston.config.syslog.levels })
    expect(() => winstonLogger(logger)).toThrow(/winstonLogger: the logger is an object; give .* it has no warn\(\)/)
  })
})

describe('createReceiver', () => {
  const create = (logger: Logger) => createReceiver({ secret: SECRET, logger })

  it.each<[string, () => Logger]>([
    ['a logger of winston', () => openWinston().logger],
    ['the module winston', () => winston],
  ])('refuses %s, which would print [object Object], with the fix', (_what, open) => {
    expect(() => create(open())).toThrow(ConfigurationError)
    expect(() => create(open())).toThrow(/winstonLogger\(logger\)/)
  })

  it('takes a logger of pino as it is, and its children', async () => {
    const { lines, stream } = collect()
    await play(pino({ level: 'debug' }, stream).child({ service: 'crm' }))
    expect(lines).toMatchObject([
      { level: 20, msg: 'handled', id: 'evt_1', service: 'crm' },
      { level: 50, code: 'handler_failed', err: { stack: expect.stringContaining('Error: inner') } },
      { level: 40, msg: expect.stringMatching(/^delivery refused: /), code: 'signature_missing' },
    ])
  })
})
