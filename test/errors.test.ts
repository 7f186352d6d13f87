import { ERROR_CODES, REJECTION_STATUS } from 'postern'
import { describe, expect, it } from 'vitest'
import { findSection, listAnchors } from './support/markdown.ts'
import { listFiles, readText } from './support/repository.ts'

const page = readText('docs/reference/errors.md')

/** The codes of the headings in a part of the page, each with its section. */
function readSections(part: string): ReadonlyMap<string, string> {
  const headings = findSection(page, part).match(/^### .*$/gm) ?? []
  return new Map(
    headings.flatMap((heading) =>
      [...heading.matchAll(/`(\w+)`/g)].map(([, code = '']) => [code, findSection(page, heading)] as const),
    ),
  )
}

const errors = readSections('## Errors')
const rejections = readSections('## Rejections')

describe('docs/reference/errors.md', () => {
  it('has a section for every error code, in the order of the source, and no other', () => {
    expect([...errors.keys()]).toEqual(Object.keys(ERROR_CODES))
  })

  it('has a section for every rejection code with its status, and no other', () => {
    const sections = [...rejections].map(([code, text]) => [code, Number(/^\*\*(\d+)\.\*\*/m.exec(text)?.[1])])
    expect(sections).toEqual(Object.entries(REJECTION_STATUS))
  })

  it.each([...errors, ...rejections])('has an anchor, a meaning, causes and a fix of %s', (code, section) => {
    expect(listAnchors(page)).toContain(code)
    expect(section).toMatch(/^\*\*[^*]+\.\*\* \S/m)
    expect(section).toMatch(/^Causes/m)
    expect(section).toMatch(/^Fix: /m)
  })
})

describe('the code tables', () => {
  const tables = new Set(['src/protocol/errors.ts', 'src/protocol/outcome.ts'])
  const used = new Set(
    ['src', 'adapters', 'tools']
      .flatMap((folder) => listFiles(folder, '.ts'))
      .filter((path) => !tables.has(path))
      .flatMap((path) => [...readText(path).matchAll(/'(\w+)'/g)].map(([, text]) => text)),
  )

  it.each([...Object.keys(ERROR_CODES), ...Object.keys(REJECTION_STATUS)])('contain nothing unused: %s', (code) => {
    expect(used).toContain(code)
  })

  it('share no code', () => {
    expect(Object.keys(ERROR_CODES).filter((code) => code in REJECTION_STATUS)).toEqual([])
  })

  it('answer a sender only with 4xx', () => {
    for (const status of Object.values(REJECTION_STATUS)) expect(Math.floor(status / 100)).toBe(4)
  })
})
