import { expect, it } from 'vitest'
import { ASSUMPTIONS } from '../../tools/emulator/assumptions.ts'
import { DIALECTS } from '../../tools/emulator/dialects.ts'

it('matches docs/reference/assumptions.md', async () => {
  // Renewed by: npx vitest run test/emulator/assumptions-page.test.ts -u
  await expect(renderPage()).toMatchFileSnapshot('../../docs/reference/assumptions.md')
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
  return `# Assumptions about the service

The emulator must decide each question that the documents leave open. Each assumption has a name, a number that identifies it everywhere, a
default, and the other behaviours that the real service may have. Choose one with \`assume: { listBody: 'items' }\` or
\`--assume listBody=items\`, or by its number: \`A04\`. The dialect \`hostile\` (\`dialect: 'hostile'\`, \`--dialect hostile\`) differs in many
of them at the same time: run the tests of a client in it, too. A test writes this page from \`tools/emulator/assumptions.ts\`.

## Dialects

| dialect | differs from the defaults in |
|---|---|
${dialects.join('\n')}

## Assumptions

${assumptions.join('\n')}`
}
