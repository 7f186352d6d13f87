import { describe, expect, it } from 'vitest'
import {
  account,
  checkInput,
  eventShape,
  resendShape,
  webhookChangeShape,
  webhookShape,
  writeAsJson,
} from '../../src/emulator/check-input.ts'

const WEBHOOK = { url: 'http://localhost/', events: ['sync.failed'] }
const ACCOUNT = { key: 'a', email: 'a@b.test', password: 'pw' }
const x = (length: number) => 'x'.repeat(length)

/** The value that was read, or the messages of the refusal. */
function read(value: unknown, shape: Parameters<typeof checkInput>[1]): unknown {
  try {
    return checkInput(value, shape)
  } catch (error) {
    const { kind, messages } = Object(error)
    return `${kind} ${messages.join(' | ')}`
  }
}

describe.each<
  [string, Parameters<typeof checkInput>[1], base: object, taken: readonly object[], refused: [string, object][]]
>([
  [
    'a webhook',
    webhookShape,
    WEBHOOK,
    [
      { events: [] },
      { events: [x(256)] },
      { events: new Array(200).fill('x') },
      { description: x(1_000), active: false },
      { description: '' },
    ],
    [
      ['events.1', { events: ['a.b', ''] }],
      ['events.0', { events: [x(257)] }],
      ['events', { events: new Array(201).fill('x') }],
      ['description', { description: x(1_001) }],
      ['description', { description: null }],
      ['active', { active: null }],
      ['url', { url: undefined }],
    ],
  ],
  [
    'an event',
    eventShape,
    { type: 'sync.failed' },
    [
      { type: 'x' },
      { type: x(256) },
      { id: 'x' },
      { id: x(1_024) },
      { timestamp: '' },
      { timestamp: x(100) },
      { data: null },
    ],
    [
      ['type', { type: '' }],
      ['type', { type: x(257) }],
      ['id', { id: '' }],
      ['id', { id: x(1_025) }],
      ['timestamp', { timestamp: x(101) }],
    ],
  ],
  [
    'an account',
    account,
    ACCOUNT,
    [{ key: 'A-z_9' }, { key: '9' }, { key: x(100) }, { email: x(320) }, { password: x(1_000) }],
    [
      ['key', { key: '' }],
      ['key', { key: x(101) }],
      ['key', { key: '-a' }],
      ['key', { key: 'a b' }],
      ['key', { key: 'a\n' }],
      ['key', { key: '$a' }],
      ['email', { email: '' }],
      ['email', { email: x(321) }],
      ['password', { password: '' }],
      ['password', { password: x(1_001) }],
      ['Unrecognized', { stray: 1 }],
    ],
  ],
  [
    'what is resent',
    resendShape,
    {},
    [{ body: '' }, { body: new Uint8Array([1]) }, { sign: 'sha1' }, { body: 'x', sign: 'stale-bytes' }],
    [
      ['body: must be text or bytes', { body: [1] }],
      ['sign', { sign: 'badly' }],
      ['Unrecognized', { bytes: 'x' }],
    ],
  ],
])('%s', (_what, shape, base, taken, refused) => {
  it.each(taken.map((fields) => [fields]))('is accepted with %j', (fields) => {
    expect(read({ ...base, ...fields }, shape)).toEqual({ ...base, ...fields })
  })

  it.each(refused)('is refused, and the problem named %s: %j', (told, fields) => {
    expect(String(read({ ...base, ...fields }, shape))).toMatch(new RegExp(`^invalid ${told}`))
  })
})

it('a registration and an event are read without the fields that the service does not know', () => {
  expect(read({ ...WEBHOOK, stray: 1 }, webhookShape)).toEqual(WEBHOOK)
  expect(read({ type: 'a.b', stray: 1 }, eventShape)).toEqual({ type: 'a.b' })
})

it('a change of a webhook needs no field, and the given ones must be right', () => {
  expect(read({}, webhookChangeShape)).toEqual({})
  expect(read({ active: false, stray: 1 }, webhookChangeShape)).toEqual({ active: false })
  expect(read({ url: 7 }, webhookChangeShape)).toMatch(/^invalid url: /)
})

it('a refusal names every problem, with the path of its field if it has one', () => {
  expect(read({ events: [7] }, webhookShape)).toMatch(/^invalid url: [^|]+ \| events\.0: [^|]+$/)
  expect(read(7, webhookShape)).toMatch(/^invalid Invalid input/)
})

it('a value that JSON cannot hold is refused with the reason', () => {
  const write = (value: unknown) => writeAsJson(() => JSON.stringify(value))
  expect(write({ a: 1 })).toBe('{"a":1}')
  const refusal = { kind: 'invalid', message: expect.stringMatching(/^cannot be written as JSON: .*BigInt/) }
  expect(() => write(1n)).toThrow(expect.objectContaining(refusal))
  const thrower = {
    toJSON() {
      throw 'no object' // anything can be thrown
    },
  }
  expect(() => write(thrower)).toThrow('cannot be written as JSON: no object')
})
