import type { Runs } from './trial.ts'

/** Makes the same cases for a clock that is an hour ahead and for one that is an hour behind. */
export function forWrongClocks(makeRuns: (direction: string, offMs: number) => Runs): Runs {
  return { ...makeRuns('ahead', 3_600_000), ...makeRuns('behind', -3_600_000) }
}

const RightDate = Date
let users = 0
let before: DateConstructor = RightDate

/** Runs work in a process whose wall clock is wrong by `offMs`: in this process, by replacing its `Date` until the work ends. */
export async function withWrongClock<T>(offMs: number, work: () => T | PromiseLike<T>): Promise<T> {
  if (users++ === 0) before = globalThis.Date
  globalThis.Date = shiftedBy(offMs)
  try {
    return await work()
  } finally {
    if (--users === 0) globalThis.Date = before
  }
}

function shiftedBy(offMs: number): DateConstructor {
  return new Proxy(RightDate, {
    construct: (target, given) => Reflect.construct(target, given.length === 0 ? [target.now() + offMs] : given),
    get: (target, name) => (name === 'now' ? () => target.now() + offMs : Reflect.get(target, name)),
  })
}
