import { expect, it } from 'vitest'
import {
  account,
  checkInput,
  eventShape,
  resendShape,
  webhookChangeShape,
  webhookShape,
  writeAsJson,
} from '../../tools/emulator/check-input.ts'

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

it.each<
  [string, Parameters<typeof checkInput>[1], base: object, field: string, longest: unknown, wrong: readonly unknown[]]
>([
  ['a webhook', webhookShape, WEBHOOK, 'description', x(1_000), [x(1_001), null]],
  [
    'a webhook',
    webhookShape,
    WEBHOOK,
    'events',
    new Array(200).fill(x(256)),
    [new Array(201).fill('x'), [''], [x(257)]],
  ],
  ['a webhook', webhookShape, WEBHOOK, 'active', false, [null]],
  ['a webhook', webhookShape, WEBHOOK, 'url', 'x', [undefined]],
  ['an event', eventShape, { type: 'x' }, 'type', x(256), ['', x(257)]],
  ['an event', eventShape, { type: 'x' }, 'id', x(1_024), ['', x(1_025)]],
  ['an event', eventShape, { type: 'x' }, 'timestamp', x(100), [x(101)]],
  ['an event', eventShape, { type: 'x' }, 'data', null, []],
  ['an account', account, ACCOUNT, 'key', x(100), ['', x(101), '-a', 'a b', 'a\n', '$a']],
  ['an account', account, ACCOUNT, 'key', 'A-z_9', []],
  ['an account', account, ACCOUNT, 'email', x(320), ['', x(321)]],
  ['an account', account, ACCOUNT, 'password', x(1_000), ['', x(1_001)]],
  ['what is resent', resendShape, {}, 'body', '', [[1]]],
  ['what is resent', resendShape, {}, 'body', new Uint8Array([1]), []],
  ['what is resent', resendShape, {}, 'sign', 'sha1', ['badly']],
])(
  '%s is accepted with the longest value of a field, and refused with any other: %#',
  (_what, shape, base, field, longest, wrong) => {
    expect(read({ ...base, [field]: longest }, shape)).toEqual({ ...base, [field]: longest })
    for (const value of wrong) expect(read({ ...base, [field]: value }, shape)).toMatch(new RegExp(`^invalid ${field}`))
  },
)

it.each([
  [account, ACCOUNT],
  [resendShape, {}],
])('an account and what is resent have no other fields', (shape, base) => {
  expect(read({ ...base, stray: 1 }, shape)).toMatch(/^invalid Unrecognized/)
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
