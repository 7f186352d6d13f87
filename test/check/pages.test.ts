import { describe, expect, it } from 'vitest'
import { CASES } from '../../src/check/cases.ts'
import { toIndex, toPage } from '../../src/check/page.ts'
import { listFiles, readText } from '../support/repository.ts'

describe('docs/checks', () => {
  it.each(CASES.map((single) => [single.id, single] as const))('tells what the source does: %s', (id, single) => {
    expect(readText(`docs/checks/${id}.md`), 'run npx tsx scripts/check-pages.ts').toBe(toPage(single))
  })

  it('has all checks in its index, and no page beside', () => {
    expect(readText('docs/checks/README.md')).toBe(toIndex(CASES))
    const pages = ['README', ...CASES.map(({ id }) => id)].map((name) => `docs/checks/${name}.md`)
    expect(listFiles('docs/checks', '.md')).toEqual(pages.sort())
  })

  it('gives each check an id of its own, and whole sentences', () => {
    expect(new Set(CASES.map(({ id }) => id)).size).toBe(CASES.length)
    for (const { id, sends, why, fix } of CASES) {
      expect(id).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
      for (const text of [sends, why, fix]) expect(text).toMatch(/^[A-Z0-9].*\.$/)
    }
  })
})
