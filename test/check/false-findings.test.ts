import { describe, expect, it } from 'vitest'
import { CASES } from '../../tools/check/cases.ts'
import { hosts } from '../adapters/http/hosts.ts'
import * as architectures from './architectures.ts'
import { FAULTY } from './faulty/findings.ts'
import { judge, judgeOwn, told } from './judge.ts'

/** Warnings that may be due: a receiver that defers concurrent deliveries uses up an attempt. */
const WARNINGS: Readonly<Record<keyof typeof architectures, readonly string[]>> = {
  AsksForPatience: [],
  BacksOff: [],
  BehindProxy: [],
  ClosesConnections: [],
  DropsIdleConnections: [],
  HandlesNewContactsOnly: ['effect-types'],
  HandlesPaymentsOnly: [],
  HidesItself: [],
  HoldsDuplicates: [],
  Inbox: [],
  KnowsItsRecords: ['effect-updated-before-created'],
  LastWriteWins: ['effect-each-event'],
  LimitsItself: ['duplicates-at-once', 'burst', 'stalled-bodies'],
  NeedsUserAgent: [],
  OpensForSeconds: [],
  OneAtATime: ['stalled-bodies'],
  SendsLetters: ['effect-types'],
  ServesOneAccount: [],
  SkipsWhatIsEqual: [],
  SlowInbox: [],
  StartsSlowly: [],
  StoresBytes: [],
}

const DESIGNS = Object.entries(architectures)

/** Returns the groups of these checks: a fault that shows in one group is not looked for in the others. */
const groupsOf = (ids: readonly string[]) => CASES.filter(({ id }) => ids.includes(id)).map(({ group }) => group)

/** Many receivers run in this process: on a busy machine one may seem slow, or out of order, in one run of two. */
const AGAIN = { retry: 1 }

describe('a run of the checks', () => {
  it.concurrent.each(FAULTY)(
    'finds the fault, and no other in its groups: $name',
    AGAIN,
    async ({ Receiver, fail = [], warn = [], beside = /^$/, among = groupsOf([...fail, ...warn]), options }) => {
      const due = ['accepts-valid', ...fail, ...warn]
      // A busy machine may take more than two seconds for one answer; it only counts if that is the fault.
      const report = await judge(new Receiver(), { only: ['accepts-valid', ...among], skip: ['deadline'], ...options })
      const found = Object.keys(told(report, 'fail', 'warn'))
      expect(found).toEqual(expect.arrayContaining([...fail, ...warn]))
      expect(found.filter((id) => !due.includes(id) && !beside.test(id))).toEqual([])
    },
  )

  it.concurrent.each(DESIGNS)('passes a receiver of another design: %s', AGAIN, async (name, Receiver) => {
    const report = await judge(new Receiver(), { patienceMs: 30_000, skip: ['deadline', 'leak', 'bytes', 'time'] })
    expect(told(report, 'fail')).toEqual({})
    const due = WARNINGS[name as keyof typeof architectures] // it comes from there
    expect(Object.keys(told(report, 'warn')).filter((id) => !due.includes(id))).toEqual([])
  })

  it.concurrent.for(hosts)('passes a receiver of this library behind $name', (host, { onTestFinished }) =>
    judgeOwn(host, onTestFinished),
  )
})
