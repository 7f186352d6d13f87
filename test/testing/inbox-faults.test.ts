import { inboxSuite } from 'postern/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  COMES_AGAIN,
  FAULTS,
  type Fault,
  MemoryInbox,
  type MemoryTable,
  NAMES_OF_DEATHS,
  OUTLASTS,
  WAITS,
} from './memory-inbox.ts'
import { speedUp } from './run-at-speed.ts'

function casesOf(fault: Fault | 'none') {
  const tables = new Map<string, MemoryTable>()
  return inboxSuite((name) => new MemoryInbox(name, tables, fault))
}

/** Cases that measure time, and run at the speed of the clock. */
const IN_REAL_TIME: readonly string[] = [WAITS, COMES_AGAIN, OUTLASTS]
const isTimed = (name: string) => IN_REAL_TIME.includes(name) || NAMES_OF_DEATHS.includes(name)

const NAMES = casesOf('none').map(({ name }) => name)
const PAIRS = Object.entries(FAULTS).flatMap(([name, faults]) => faults.map((fault) => [name, fault] as const))

/** Runs a case on an inbox with a fault. */
async function runCase(name: string, fault: Fault | 'none'): Promise<void> {
  await casesOf(fault)
    .find((each) => each.name === name)
    ?.run()
}

const NOTICES = '%s: notices an inbox that %s'
it('has a planted fault for every case', () => {
  expect(Object.keys(FAULTS).sort()).toEqual([...NAMES].sort())
})

it('accepts an inbox without a fault', async () => {
  await Promise.all(NAMES.map((name) => runCase(name, 'none')))
})

/** Expects one of several runs to pass, or to fail: on a busy machine a limit may end early, and what comes too early may come late. */
async function expectRun(result: 'passes' | 'fails', name: string, fault: Fault | 'none'): Promise<void> {
  const run = () =>
    runCase(name, fault).then(
      () => 'passes',
      () => 'fails',
    )
  await vi.waitFor(async () => expect(await run()).toBe(result), { timeout: 240_000 })
}

const expectNoticed = (name: string, fault: Fault) => expectRun('fails', name, fault)

describe.concurrent('in real time', () => {
  it.each(PAIRS.filter(([name]) => IN_REAL_TIME.includes(name)))(NOTICES, expectNoticed)
})

describe.concurrent('at three times the speed', () => {
  let restore = () => {}
  beforeAll(() => {
    restore = speedUp(3)
  })
  afterAll(() => restore())

  it.each(PAIRS.filter(([name]) => NAMES_OF_DEATHS.includes(name)))(NOTICES, expectNoticed)
})

// Some faults are noticed only because something does not happen within 30 s.
describe.concurrent('at 30 times the speed', () => {
  beforeAll(() => speedUp(30))

  it.each(NAMES.filter((name) => !isTimed(name)))('%s: accepts an inbox without a fault', (name) =>
    expectRun('passes', name, 'none'),
  )

  it.each(PAIRS.filter(([name]) => !isTimed(name)))(NOTICES, expectNoticed)
})
