import { expect, it } from 'vitest'
import { formatTable, toPrintable, toWord } from '../../tools/cli/output/print-table.ts'

it.each([
  [1_000, 'x'.repeat(1_000)],
  [1_001, `${'x'.repeat(1_000)}…`],
])('cuts a cell of %d characters at 1000', (length, cell) => {
  expect(formatTable(['A'], [['x'.repeat(length)]])).toBe(`A\n${cell}`)
})

it('shows a sign for whatever a terminal could obey', () => {
  expect(toPrintable('a\u001b[2J\u0000\u009b\u202e\u2066\u2028\u2029\nZoë')).toBe('a?[2J???????Zoë')
  expect(formatTable(['A'], [['a\nb']])).toBe('A\na?b')
  expect(formatTable(['A\u001b[2J'], [['a']])).toBe('A?[2J\na')
})

it('makes one word for a shell', () => {
  expect(toWord('evt_1')).toBe('evt_1')
  expect(toWord("a b\n'c")).toBe("'a b?'\\''c'")
})
