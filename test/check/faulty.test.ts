import { describe, expect, it } from 'vitest'
import { CASES } from '../../src/check/cases.ts'
import { FAULTY } from './faulty/findings.ts'
import { HandWritten } from './faulty/hand-written.ts'
import { judge, told } from './judge.ts'

/** Returns the groups of these checks: a fault that shows in one group is not looked for in the others. */
const groupsOf = (ids: readonly string[]) => CASES.filter(({ id }) => ids.includes(id)).map(({ group }) => group)

describe('a receiver by hand', () => {
  it('passes without a fault', async () => {
    expect(told(await judge(new HandWritten()), 'fail', 'warn', 'info', 'skipped')).toEqual({})
  })

  it.concurrent.each(FAULTY)(
    'gets a report of its fault, and of no other in the groups of its checks: $name',
    async ({ Receiver, fail = [], warn = [], beside = /^$/, options }) => {
      const only = ['accepts-valid', ...groupsOf([...fail, ...warn])]
      // A busy machine may take more than two seconds for one answer; it only counts if that is the fault.
      const skip = options?.only === undefined ? ['deadline'] : []
      const report = await judge(new Receiver(), { only, skip, ...options })
      const found = (status: string) => Object.keys(told(report, status))
      const unasked = (status: string, asked: readonly string[]) =>
        found(status).filter((id) => asked.includes(id) || !beside.test(id))
      expect(unasked('fail', fail).sort(), JSON.stringify(told(report, 'fail'))).toEqual([...fail].sort())
      expect(unasked('warn', warn).sort(), JSON.stringify(told(report, 'warn'))).toEqual([...warn].sort())
    },
  )
})
