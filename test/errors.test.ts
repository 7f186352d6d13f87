import { ERROR_CODES, REJECTION_STATUS } from 'postern'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { findSection, listAnchors, readTable } from './support/markdown.ts'
import { listFiles, readText } from './support/repository.ts'

const page = readText('docs/reference/errors.md')
const errorRows = readTable(findSection(page, '## Errors'))
const rejectionRows = readTable(findSection(page, '## Rejections'))

describe('docs/reference/errors.md', () => {
  it('lists every error code, in the order of the source, and no other', () => {
    expect(errorRows.map(([code]) => code)).toEqual(Object.keys(ERROR_CODES))
  })

  it('lists every rejection code with its status, and no other', () => {
    const rows = rejectionRows.map(([code, status]) => [code, Number(status)])
    expect(rows).toEqual(Object.entries(REJECTION_STATUS))
  })

  it('has a meaning for each code', () => {
    for (const [code, , meaning] of [...errorRows, ...rejectionRows]) expect(meaning, code).toMatch(/^\S.*\.$/)
  })

  it.each([...Object.keys(ERROR_CODES), ...Object.keys(REJECTION_STATUS)])('lists causes and fix of %s', (code) => {
    expect(listAnchors(page)).toContain(code)
    const heading = page.split('\n').find((line) => line.startsWith('### ') && line.includes(`\`${code}\``))
    const section = findSection(page, heading ?? `### \`${code}\``)
    expect(section).toMatch(/^Likely causes/m)
    expect(section).toMatch(/^Fix: /m)
  })
})

describe('the code tables', () => {
  const tables = new Set(['src/protocol/errors.ts', 'src/protocol/outcome.ts'])
  const used = new Set(
    [...listFiles('src', '.ts'), ...listFiles('adapters', '.ts')]
      .filter((path) => !tables.has(path))
      .flatMap((path) => stringsOf(path)),
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

/** Returns the string literals of a file that exist at run time. */
function stringsOf(path: string): readonly string[] {
  const strings: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node)) return
    if (ts.isStringLiteral(node)) strings.push(node.text)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(path, readText(path), ts.ScriptTarget.Latest))
  return strings
}
