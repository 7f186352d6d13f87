import { describe, expect, it } from 'vitest'
import { FAULTY } from './faulty/findings.ts'
import { HandWritten } from './faulty/hand-written.ts'
import { judge, told } from './judge.ts'

describe('a receiver by hand', () => {
  it('passes without a fault', async () => {
    expect(told(await judge(new HandWritten()), 'fail', 'warn', 'info', 'skipped')).toEqual({})
  })

  it.concurrent.each(FAULTY)(
    'gets a report of its fault: $name',
    async ({ Receiver, fail = [], warn = [], options }) => {
      const report = await judge(new Receiver(), { only: ['accepts-valid', ...fail, ...warn], ...options })
      expect(Object.keys(told(report, 'fail')).sort(), JSON.stringify(told(report, 'fail'))).toEqual([...fail].sort())
      expect(Object.keys(told(report, 'warn')).sort(), JSON.stringify(told(report, 'warn'))).toEqual([...warn].sort())
    },
  )
})
