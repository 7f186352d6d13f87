import { storeSuite } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { FAULTS, MODEL, makeStores, type Oddity } from './faulty-store.ts'
import { runAtSpeed } from './run-at-speed.ts'

function casesOf({ makeStore, pass, outage }: ReturnType<typeof makeStores>) {
  return storeSuite(makeStore, { pass, outage })
}

const ALL = casesOf(makeStores('none'))

describe('the store suite', () => {
  it('has a planted fault for every case', () => {
    const listed = Object.keys(FAULTS)
    for (const { name } of ALL) expect(listed).toContain(name.startsWith(MODEL) ? MODEL : name)
    expect(listed.filter((name) => !ALL.some((each) => each.name.startsWith(name)))).toEqual([])
  })

  it.each(Object.entries(FAULTS).flatMap(([name, faults]) => faults.map((fault) => [fault, name] as const)))(
    'notices a store that %s: %s',
    async (fault, name) => {
      const cases = casesOf(makeStores(fault)).filter((each) => each.name.startsWith(name))
      const failed: string[] = []
      for (const each of cases) await each.run().catch(() => failed.push(each.name))
      expect(failed).not.toEqual([])
    },
  )

  it.each(FAULTS[MODEL])('notices by every sequence a store that %s', async (fault) => {
    const last = casesOf(makeStores(fault)).find(({ name }) => name.includes('every sequence'))
    await expect(last?.run()).rejects.toThrow(/step \d of/)
  })

  it('notices a store that never finds its engine again', async () => {
    const all = casesOf(makeStores('never finds its engine again'))
    const cases = all.filter(({ name }) => name.startsWith('takes "done" after'))
    const failure = runAtSpeed(40, () => Promise.all(cases.map(({ run }) => run())))
    await expect(failure).rejects.toMatchObject({
      message: 'the store did not find its engine again',
      cause: { message: 'no connection' },
    })
  })

  it.each(['none', 'returns marks in another order'] as const)('accepts a store twice: %s', async (oddity) => {
    const cases = casesOf(makeStores(oddity)).filter(({ takesEngineAway }) => !takesEngineAway)
    for (const { run } of [...cases, ...cases]) await run()
  })

  it.each<Oddity>([
    'none',
    'returns marks in another order',
    'loses the answer to a late claim',
    'refuses calls until its engine is back for a while',
  ])('accepts a store whose engine is away for a while: %s', async (oddity) => {
    const names = ALL.filter(({ takesEngineAway }) => takesEngineAway).map(({ name }) => name)
    const cases = names.map((name) => casesOf(makeStores(oddity)).find((each) => each.name === name))
    await Promise.all(cases.map((each) => each?.run()))
  })
})
