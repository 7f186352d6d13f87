import { describe, expect, it } from 'vitest'
import { quote, reasonOf, show } from '../../src/receiver/show.ts'
import { callWithin, isThenable, TimeUp, within } from '../../src/receiver/within.ts'
import { evilError, evilProxy, Gate, ManualClock, thenable, watchRejections } from './support.ts'

watchRejections()

describe('within', () => {
  it('gives what comes in time, and leaves no timer', async () => {
    const clock = new ManualClock()
    expect(await within(clock, 100, 'work', Promise.resolve(1))).toBe(1)
    await expect(within(clock, 100, 'work', Promise.reject(new Error('no')))).rejects.toThrow('no')
    await expect(
      within(
        clock,
        100,
        'work',
        thenable(() => {
          throw new Error('no')
        }) as PromiseLike<unknown>,
      ),
    ).rejects.toThrow('no')
    expect(clock.pending).toBe(0)
  })

  it('gives up after its time, and hands on what came too late', async () => {
    const clock = new ManualClock()
    const gate = new Gate<number>()
    const late: number[] = []
    const waiting = within(clock, 100, 'The engine', gate.promise, (value) => late.push(value)).catch(
      (error: unknown) => error,
    )
    await clock.advance(100)
    const error = await waiting
    expect(error).toBeInstanceOf(TimeUp)
    expect(error).toMatchObject({ message: 'The engine did not answer within 100 ms' })
    gate.open(7)
    await clock.advance(0)
    expect(late).toEqual([7])
  })
})

describe('callWithin', () => {
  const outcome = async (call: () => unknown) => {
    const clock = new ManualClock()
    const steps: unknown[] = []
    callWithin(
      clock,
      100,
      'call',
      call,
      (answer) => steps.push(['answer', answer]),
      (cause) => steps.push(['failure', String((cause as Error)?.message)]),
    ) // errors, in this table
    const atOnce = steps.length
    await clock.advance(100)
    expect(clock.pending).toBe(0)
    return [atOnce, ...steps]
  }

  it.each<[string, () => unknown, readonly unknown[]]>([
    ['an answer at once', () => 1, [1, ['answer', 1]]],
    [
      'a throw',
      () => {
        throw new Error('no')
      },
      [1, ['failure', 'no']],
    ],
    ['an answer by a promise', async () => 1, [0, ['answer', 1]]],
    ['a rejection', () => Promise.reject(new Error('no')), [0, ['failure', 'no']]],
    ['no answer', () => new Promise(() => {}), [0, ['failure', 'call did not answer within 100 ms']]],
    ['what throws when it is looked at', () => evilProxy(), [1, ['failure', 'looked at']]],
  ])('goes on with %s, once', async (_what, call, steps) => {
    expect(await outcome(call)).toEqual(steps)
  })

  it('does not take a throw of what follows for one of the call', () => {
    const failures: unknown[] = []
    const follow = () => {
      throw new Error('later')
    }
    expect(() =>
      callWithin(
        new ManualClock(),
        100,
        'call',
        () => 1,
        follow,
        (cause) => failures.push(cause),
      ),
    ).toThrow('later')
    expect(failures).toEqual([])
  })
})

it.each([
  [undefined, false],
  [null, false],
  ['then', false],
  [{}, false],
  [Object.defineProperty({}, 'then', { value: 1 }), false],
  [Promise.resolve(), true],
  [thenable(() => {}), true],
  [Object.assign(() => {}, { other: 1 }), false],
])('isThenable %#', (value, is) => {
  expect(isThenable(value)).toBe(is)
})

describe('words about values', () => {
  it.each([
    ['text', '"text"'],
    [1, '1'],
    [10n, '10'],
    [undefined, 'undefined'],
    [null, 'null'],
    [Symbol('s'), 'Symbol(s)'],
    [[1], 'a list'],
    [{}, 'an object'],
    [() => 'a long source', 'a function'],
  ])('show %s', (value, shown) => {
    expect(show(value)).toBe(shown)
  })

  it.each([
    ['contact.created', '"contact.created"'],
    ['Zoë €', '"Zoë €"'],
    ['a"b\\', '"a\\u0022b\\u005c"'],
    ['\n\u001b\u007f\u009b\u2028\u202e', '"\\u000a\\u001b\\u007f\\u009b\\u2028\\u202e"'],
    ['\ud800', '"\\ud800"'],
    ['😀', '"😀"'],
  ])('quote %j', (text, quoted) => {
    expect(quote(text)).toBe(quoted)
  })

  const NO_ERROR = 'it threw something that is not an error'
  it.each<[unknown, string]>([
    [new Error('why'), 'why'],
    [new TypeError('what'), 'what'],
    [undefined, NO_ERROR],
    [null, NO_ERROR],
    ['text', NO_ERROR],
    [{ message: 'why' }, NO_ERROR],
    [evilError(), NO_ERROR],
    [evilProxy(), NO_ERROR],
    [Object.assign(new Error('x'), { message: 5 }), NO_ERROR],
  ])('reasonOf %#', (thrown, reason) => {
    expect(reasonOf(thrown)).toBe(reason)
  })
})
