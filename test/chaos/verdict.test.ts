import { describe, expect, it } from 'vitest'
import type { JournalRecord } from './journal.ts'
import { judge, type Life } from './verdict.ts'

/** Parses `begin a@10`: handler `work`, event `a`, at 10. A trailing `✝50` says that the process was killed at 50. */
function life(...lines: string[]): Life {
  const killedAt = lines.find((line) => line.startsWith('✝'))?.slice(1)
  const records = lines
    .filter((line) => !line.startsWith('✝'))
    .map((line): JournalRecord => {
      const [, kind = '', eventId = '', at = ''] = /^(\w+) (\w+)@(\d+)$/.exec(line) ?? []
      return { kind: kind as JournalRecord['kind'], eventId, handler: kind === 'settled' ? '' : 'work', at: Number(at) } // written below
    })
  return { records, killedAt: killedAt === undefined ? undefined : Number(killedAt) }
}

const SOUND = { neverHandled: 0, twiceWithoutKill: 0, overlapping: 0 }

const cases: readonly { name: string; lives: readonly Life[]; faults: Partial<typeof SOUND>; repeated?: number }[] = [
  { name: 'one run', lives: [life('begin a@1', 'end a@2', 'settled a@3')], faults: {} },
  { name: 'no run', lives: [life()], faults: { neverHandled: 1 } },
  {
    name: 'a run that failed and was not repeated',
    lives: [life('begin a@1', 'failure a@2')],
    faults: { neverHandled: 1 },
  },
  {
    name: 'a run that failed and was repeated elsewhere',
    lives: [life('begin a@1', 'failure a@2', 'settled a@3'), life('begin a@4', 'end a@5', 'settled a@6')],
    faults: {},
  },
  {
    name: 'two runs one after the other',
    lives: [life('begin a@1', 'end a@2', 'settled a@3'), life('begin a@4', 'end a@5', 'settled a@6')],
    faults: { twiceWithoutKill: 1 },
  },
  {
    name: 'two runs at the same time',
    lives: [life('begin a@1', 'end a@5', 'settled a@6'), life('begin a@4', 'failure a@9', 'settled a@10')],
    faults: { overlapping: 1 },
  },
  {
    name: 'a run that a kill cut off, and its repetition',
    lives: [life('begin a@1', '✝3'), life('begin a@4', 'end a@5', 'settled a@6')],
    faults: {},
  },
  {
    name: 'a run that had ended but was killed before the store knew',
    lives: [life('begin a@1', 'end a@2', '✝3'), life('begin a@4', 'end a@5', 'settled a@6')],
    faults: {},
    repeated: 1,
  },
  {
    name: 'a repetition of what the store knew before the kill',
    lives: [life('begin a@1', 'end a@2', 'settled a@3', '✝9'), life('begin a@10', 'end a@11', 'settled a@12')],
    faults: { twiceWithoutKill: 1 },
  },
  {
    name: 'two repetitions after one kill',
    lives: [
      life('begin a@1', 'end a@2', '✝3'),
      life('begin a@4', 'end a@5', 'settled a@6', 'begin a@7', 'end a@8', 'settled a@9'),
    ],
    faults: { twiceWithoutKill: 1 },
  },
  {
    name: 'a run begun elsewhere before the kill',
    lives: [life('begin a@1', 'end a@6', '✝9'), life('begin a@4', 'end a@5', 'settled a@6')],
    faults: { overlapping: 1 },
    repeated: 1,
  },
]

describe('the judge of a chaos run', () => {
  it.each(cases)('reports $name', ({ lives, faults, repeated = 0 }) => {
    const verdict = judge(['a'], () => ['work'], lives)
    expect(verdict.faults).toEqual({ ...SOUND, ...faults })
    expect(verdict.repeatedAfterKill).toBe(repeated)
  })

  it.each([
    { outage: { from: 2, to: 8 }, faults: {}, repeated: 1 },
    { outage: { from: 7, to: 8 }, faults: { twiceWithoutKill: 1 }, repeated: 0 },
  ])(
    'excuses a repeated run if the store had not taken the result before an outage ($outage)',
    ({ outage, faults, repeated }) => {
      const lives = [life('begin a@1', 'end a@3', 'settled a@6'), life('begin a@9', 'end a@10', 'settled a@11')]
      const verdict = judge(['a'], () => ['work'], lives, [outage])
      expect(verdict.faults).toEqual({ ...SOUND, ...faults })
      expect(verdict.repeatedAfterKill).toBe(repeated)
    },
  )

  it('expects for each event only the handlers that must end for it', () => {
    const lives = [life('begin a@1', 'end a@3', 'settled a@6')]
    const handlersOf = (eventId: string) => (eventId === 'a' ? ['work'] : [])
    expect(judge(['a', 'poisoned'], handlersOf, lives).faults).toEqual(SOUND)
  })
})
