import { inboxSuite } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { FAULTS, type Fault, MemoryInbox, type MemoryTable } from './memory-inbox.ts'
import { runAtSpeed } from './run-at-speed.ts'

const WAITS = 'tries again when it is told to, and not before'
const OUTLASTS = 'leaves an item with its worker for longer than the lease'

/** Faults that each case must notice. */
const NOTICED: Readonly<Record<string, readonly Fault[]>> = {
  'keeps an item byte for byte, where every process finds it': [
    'tells of an item before it has it',
    'keeps the body as text',
    'loses the trace',
    'loses the source',
    'shares nothing',
  ],
  'leaves out what an item does not have': ['has null for what an item lacks'],
  'keeps bodies without and with many bytes': ['cuts long bodies off'],
  'holds keys apart that differ in little': ['ignores case', 'trims keys'],
  'takes a key once, however many put it in at once': ['makes two items of a duplicate', 'never removes'],
  'leaves an item as it is that comes again while it runs': [
    'makes two items of a duplicate',
    'replaces an item that comes again',
    'never removes',
  ],
  'takes a key again that is done': ['remembers what is done', 'never removes'],
  'counts, and finds nothing where there is nothing': [
    'knows no oldest item',
    'says that it dropped what is not there',
    'shares nothing',
  ],
  'gives a worker the item as it was put in': [
    'loses the source',
    'has workers without a name',
    'gives workers no trace',
    'gives workers the body as text',
  ],
  'runs what is there already, and what another process puts in': ['shares nothing'],
  'runs as many at once as it is told, and no more': ['runs more at once than it is told', 'runs one at a time'],
  'gives an item to one of several workers': ['gives one item to several workers'],
  [WAITS]: ['tries again at once the first time', 'tries again at once from the second time on'],
  'counts the tries that count, and keeps each': [
    'counts every try',
    'counts no try',
    'keeps the last try only',
    'keeps a try that did not begin',
    'forgets the times of tries',
  ],
  'keeps the last 20 tries': ['keeps every try', 'keeps the last try only', 'keeps the first tries'],
  'shows what waits for its next try, and what runs': [
    'drops what runs',
    'counts what runs as waiting',
    'counts as due what is due later',
    'never removes',
  ],
  'tells once of each item that it settled': ['never tells what it settled', 'tells twice what it settled'],
  [OUTLASTS]: ['never renews its leases'],
  'takes accounts in turn: the backlog of one does not stand before the first item of another': [
    'runs the backlog of an account first',
  ],
  'closes: takes nothing more, and waits for what runs': [
    'closes while items run',
    'takes more while it closes',
    'aborts at once when it closes',
    'never removes',
  ],
  'aborts what outlasts the time to close, and settles it': [
    'never aborts',
    'keeps what it gives back',
    'counts every try',
    'removes what is to wait',
  ],
  'keeps a dead letter with its try and its marks, and does not run it': [
    'buries without marks',
    'buries without the try',
    'removes what is to be buried',
    'dates a dead letter by its receipt',
    'runs dead letters',
  ],
  'replays a dead letter with fresh tries and the marks that it kept': [
    'never says that it replayed',
    'replays anything',
    'replays without marks',
    'replays with the failures of before',
    'replays without the tries of before',
    'replays without the time of the replay',
    'never removes',
  ],
  'has a dead letter wait again that comes in again': [
    'leaves a dead letter dead that comes in again',
    'replays without marks',
  ],
  'replays once what is replayed twice at once': ['never says that it replayed', 'replays in two steps'],
  'replays only what is dead, and drops what is not wanted': [
    'replays anything',
    'drops no dead letter',
    'says that it dropped what is not there',
  ],
  'lists page by page, each item once': [
    'lists all on one page',
    'lists the first page again and again',
    'skips an item between pages',
  ],
  'lists what waits now and what waits for later': [
    'lists only what is due',
    'lists the first page again and again',
    'skips an item between pages',
  ],
}

function casesOf(fault: Fault | 'none') {
  const tables = new Map<string, MemoryTable>()
  return inboxSuite((name) => new MemoryInbox(name, tables, fault))
}

/** Cases that measure time, and run at the speed of the clock. */
const IN_REAL_TIME = [WAITS, OUTLASTS]
const AT_SPEED = Object.keys(NOTICED).filter((name) => !IN_REAL_TIME.includes(name))

/** Runs a case on an inbox with a fault. Most run fast, since some faults are noticed only because something does not happen within 30 s. */
function runCase(name: string, fault: Fault | 'none'): Promise<void> {
  const judged = casesOf(fault).find((each) => each.name === name)
  return runAtSpeed(IN_REAL_TIME.includes(name) ? 1 : 30, async () => judged?.run())
}

describe('the inbox suite', () => {
  it('has a planted fault for every case, and knows of each', () => {
    const names = casesOf('none').map(({ name }) => name)
    expect(Object.keys(NOTICED).sort()).toEqual(names.sort())
    expect(new Set(Object.values(NOTICED).flat())).toEqual(new Set(FAULTS))
  })

  it('accepts an inbox without a fault', async () => {
    await Promise.all(casesOf('none').map(({ run }) => run()))
  })

  it.each(AT_SPEED)('accepts an inbox without a fault at the speed of the faults: %s', async (name) => {
    await runCase(name, 'none')
  })

  it.each(Object.entries(NOTICED).flatMap(([name, faults]) => faults.map((fault) => [fault, name] as const)))(
    'notices an inbox that %s: %s',
    async (fault, name) => {
      await expect(runCase(name, fault)).rejects.toThrow()
    },
  )
})
