import { expect, it } from 'vitest'
import { patch } from './bundle.ts'
import { drawPlan } from './draw-plan.ts'
import { drawInboxPlan } from './inbox/draw-inbox.ts'
import { PLANTED_FAULTS } from './planted-faults.ts'
import { search } from './search.ts'
import { shrink } from './shrink.ts'
import { simulate } from './simulate.ts'
import { subject } from './subject.ts'

const SEEDS = 200
const INBOX_SEEDS = 100
/** The first of them finds the fault, unless the receiver was changed since. */
const MOST_RUNS = 1_000

it(`finds no violation in ${SEEDS} runs`, async () => {
  for (let seed = 0; seed < SEEDS; seed++) {
    const { violations } = await simulate(drawPlan(seed), subject)
    expect(violations, `npm run simulate -- --seed ${seed} --trace`).toEqual([])
  }
})

it(`finds no violation in ${INBOX_SEEDS} runs with an inbox`, async () => {
  for (let seed = 0; seed < INBOX_SEEDS; seed++) {
    const { violations } = await simulate(drawInboxPlan(seed), subject)
    expect(violations, `npm run simulate -- --inbox --seed ${seed} --trace`).toEqual([])
  }
})

it('does the same for the same seed', async () => {
  const inInbox = [1, 3, 10].map(drawInboxPlan)
  expect(new Set(inInbox.map(({ engine }) => engine === 'shared file')).size).toBe(2)
  for (const plan of [...[64, 98, 306].map(drawPlan), ...inInbox]) {
    const [first, second] = [await simulate(plan, subject, true), await simulate(plan, subject, true)]
    expect(first.trace.length).toBeGreaterThan(20)
    expect(second).toEqual(first)
  }
})

it.each(PLANTED_FAULTS)('finds the planted fault $name: $breaks', async (fault) => {
  expect(await search(fault, fault.from, MOST_RUNS)).toMatchObject({ violation: { rule: expect.any(String) } })
})

it('reports which planted fault does not match the source any more', () => {
  const fault = { name: 'stale', breaks: '', from: 0, file: 'a.ts', edits: { twice: 'once' } }
  expect(() => patch(fault, 'twice and twice')).toThrow(/"stale" does not fit a\.ts any more: .* 2 times/)
  expect(patch(fault, 'not twice')).toBe('not once')
})

it('shrinks a run to the parts that it needs to fail', async () => {
  const isFailing = async ({ events, faults }: ReturnType<typeof drawPlan>) =>
    events.some(({ number }) => number === 1) && faults.some(({ kind }) => kind === 'kill')
  const seed = await firstSeed(isFailing)
  const shortest = await shrink(drawPlan(seed), isFailing)
  expect(shortest.events).toMatchObject([{ number: 1, duplicatesAfterMs: [], lostAnswers: [], troubles: [] }])
  expect(shortest.faults).toMatchObject([{ kind: 'kill' }])
  expect(shortest).toMatchObject({ handlers: [], intruders: [], secrets: { form: 'one' }, settings: { latencyMs: 1 } })
})

async function firstSeed(isMeant: (plan: ReturnType<typeof drawPlan>) => Promise<boolean>): Promise<number> {
  for (let seed = 0; ; seed++) {
    const plan = drawPlan(seed)
    if (plan.events.length > 2 && plan.faults.length > 2 && (await isMeant(plan))) return seed
  }
}
