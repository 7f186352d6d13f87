import { describe, expect, it } from 'vitest'
import { FAULTY } from './faulty/findings.ts'
import { HandWritten } from './faulty/hand-written.ts'
import { judge, told } from './judge.ts'

describe('a receiver by hand', () => {
  it('passes without a fault', async () => {
    expect(told(await judge(new HandWritten()), 'fail', 'warn', 'info', 'skipped')).toEqual({})
  })

  it.concurrent.each(FAULTY)(
    'gets a report of its fault, and of no other: $name',
    { timeout: 120_000 },
    async ({ Receiver, fail = [], warn = [], beside = /^$/, options }) => {
      // A busy machine may take more than two seconds for one answer; it only counts if that is the fault.
      const report = await judge(new Receiver(), {
        ...(options?.only === undefined && { skip: ['deadline'] }),
        ...options,
      })
      const found = (status: string) => Object.keys(told(report, status))
      const unasked = (status: string, asked: readonly string[]) =>
        found(status).filter((id) => asked.includes(id) || !beside.test(id))
      expect(unasked('fail', fail).sort(), JSON.stringify(told(report, 'fail'))).toEqual([...fail].sort())
      expect(unasked('warn', warn).sort(), JSON.stringify(told(report, 'warn'))).toEqual([...warn].sort())
    },
  )
})
