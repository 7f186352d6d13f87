import { describe, expect, it } from 'vitest'
import { toReference } from '../../scripts/check-page.ts'
import { CASES } from '../../tools/check/cases.ts'
import { toPage } from '../../tools/check/page.ts'
import { readText } from '../support/repository.ts'

describe('docs/reference/checks.md', () => {
  const page = readText('docs/reference/checks.md')

  it('matches the source', () => {
    expect(page, 'run npx tsx scripts/check-page.ts').toBe(toReference(CASES))
  })

  it('tells of each check what the page of one check tells', () => {
    for (const single of CASES)
      for (const text of [single.sends, single.expects, single.why, single.fix]) expect(toPage(single)).toContain(text)
  })
})

describe('the checks', () => {
  it('have unique ids, and whole sentences', () => {
    expect(new Set(CASES.map(({ id }) => id)).size).toBe(CASES.length)
    for (const { id, sends, why, fix } of CASES) {
      expect(id).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
      for (const text of [sends, why, fix]) expect(text).toMatch(/^[A-Z0-9].*\.$/)
    }
  })

  it('run alone if they send many deliveries concurrently, strain the receiver or measure its time', () => {
    const needsAll = CASES.filter(
      ({ sends, group }) => /concurrently|with nothing else under way/.test(sends) || group === 'load',
    )
    expect(needsAll.length).toBeGreaterThan(10)
    expect(needsAll.filter(({ alone }) => alone !== true).map(({ id }) => id)).toEqual([])
    // Everything else depends on whether a plain delivery is accepted.
    expect(CASES[0]).toMatchObject({ id: 'accepts-valid', alone: true })
  })
})
