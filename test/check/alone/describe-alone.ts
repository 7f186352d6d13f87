import { describe, expect, it } from 'vitest'
import { CASES } from '../../../src/check/cases.ts'
import { FAULTY } from '../faulty/findings.ts'
import { HandWritten } from '../faulty/hand-written.ts'
import { judge } from '../judge.ts'

/** A pair that `faulty.test.ts` judges as well: its queue needs seconds for fifty events. */
const isSlow = (id: string, name: string) => id === 'effect-once-after-others' && name === 'QueueWithoutDedup'

/** Tests checks as `--only ID` runs them: nothing is sent before. */
export function describeAlone(isTested: (id: string, group: string) => boolean): void {
  const ids = CASES.filter(({ id, group }) => isTested(id, group)).map(({ id }) => id)
  const findings = FAULTY.flatMap((faulty) =>
    (['fail', 'warn'] as const).flatMap((status) =>
      (faulty[status] ?? [])
        .filter((id) => ids.includes(id) && !isSlow(id, faulty.name))
        .map((id) => ({ ...faulty, id, status })),
    ),
  )

  describe('a check that runs alone', () => {
    it.each(ids)('passes a receiver without a fault: %s', async (id) => {
      const { checks } = await judge(new HandWritten(), { only: [id] })
      expect(checks.map(({ status, reason }) => `${status}: ${reason}`)).toEqual([expect.stringMatching(/^pass: /)])
    })

    it.each(findings)('finds the fault, $id by $status: $name', async ({ id, status, Receiver, options }) => {
      const report = await judge(new Receiver(), { patienceMs: 500, ...options, only: [id] })
      expect(report.checks.map((check) => `${check.status}: ${check.reason}`)).toEqual([
        expect.stringMatching(new RegExp(`^${status}: (?!could not be judged)`)),
      ])
    })
  })
}
