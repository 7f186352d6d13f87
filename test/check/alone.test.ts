import { describe, expect, it } from 'vitest'
import { CASES } from '../../tools/check/cases.ts'
import { FAULTY } from './faulty/findings.ts'
import { HandWritten } from './faulty/hand-written.ts'
import { judge } from './judge.ts'

/** A pair that `false-findings.test.ts` judges: its queue needs seconds for fifty events. */
const isSlow = (id: string, name: string) => id === 'effect-once-after-others' && name === 'QueueWithoutDedup'

/** Without the check whose result depends on the machine. */
const IDS = CASES.map(({ id }) => id).filter((id) => id !== 'deadline')
const FINDINGS = FAULTY.filter(({ isWhole }) => isWhole !== true).flatMap((faulty) =>
  (['fail', 'warn'] as const).flatMap((status) =>
    (faulty[status] ?? []).filter((id) => !isSlow(id, faulty.name)).map((id) => ({ ...faulty, id, status })),
  ),
)

// As `--only ID` runs it: nothing is sent before.
describe('a check that runs alone', () => {
  it.concurrent.each(IDS)('passes a receiver without a fault: %s', async (id) => {
    const { checks } = await judge(new HandWritten(), { only: [id] })
    expect(checks.map(({ status, reason }) => `${status}: ${reason}`)).toEqual([expect.stringMatching(/^pass: /)])
  })

  it.concurrent.each(FINDINGS)('finds the fault, $id by $status: $name', async ({ id, status, Receiver, options }) => {
    const report = await judge(new Receiver(), { patienceMs: 500, ...options, only: [id] })
    expect(report.checks.map((check) => `${check.status}: ${check.reason}`)).toEqual([
      expect.stringMatching(new RegExp(`^${status}: (?!could not be judged)`)),
    ])
  })
})
