import { ASSUMPTIONS, DIALECTS } from 'postern/emulator'
import { expect, it } from 'vitest'

it('is what docs/reference/assumptions.md tells, and nothing else', async () => {
  // Written anew by: npx vitest run test/emulator/assumptions-page.test.ts -u
  await expect(renderPage()).toMatchFileSnapshot('../../docs/reference/assumptions.md')
})

it('numbers the assumptions from A01 to A40, and has each default among the values', () => {
  const ids = Array.from({ length: 40 }, (_, index) => `A${String(index + 1).padStart(2, '0')}`)
  expect(Object.values(ASSUMPTIONS).map(({ id }) => id)).toEqual(ids)
  for (const name of Object.keys(ASSUMPTIONS)) expect(name).toMatch(/^[a-z][A-Za-z]+$/)
  for (const { values, default: first } of Object.values(ASSUMPTIONS)) expect(Object.keys(values)).toContain(first)
})

function renderPage(): string {
  const assumptions = Object.entries(ASSUMPTIONS).map(([name, { id, subject, default: first, values }]) => {
    const told = Object.entries(values).map(([value, meaning]) => `| \`${value}\` | ${meaning} |`)
    return `### ${id}: ${subject}\n\nName: \`${name}\`. Default: \`${first}\`.\n\n| value | meaning |\n|---|---|\n${told.join('\n')}\n`
  })
  const dialects = Object.entries(DIALECTS).map(([name, assume]) => {
    const told = Object.entries(assume).map(([name, value]) => `\`${name}\` \`${value}\``)
    return `| \`${name}\` | ${told.join(', ') || 'nothing'} |`
  })
  return `# What the service's documents leave open

The emulator has to decide what they do not tell. Each such thing has a name, a number that stands for it everywhere, a default, and the other
ways in which the real service may turn out. One is chosen with \`assume: { listBody: 'items' }\` or \`--assume listBody=items\`, or by its
number: \`A04\`. A whole set is chosen with \`dialect: 'envelope'\` or \`--dialect envelope\`. Test a client against every dialect. This page is written by a test from \`src/emulator/assumptions.ts\`.

## Dialects

| dialect | differs from the defaults in |
|---|---|
${dialects.join('\n')}

## Assumptions

${assumptions.join('\n')}`
}
