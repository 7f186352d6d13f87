/** Writes `docs/checks` from the source of the checks: `npx tsx scripts/check-pages.ts`. A test holds the two together. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { CASES } from '../src/check/cases.ts'
import { toIndex, toPage } from '../src/check/page.ts'

const folder = new URL('../docs/checks/', import.meta.url)
for (const file of readdirSync(folder)) rmSync(new URL(file, folder))
for (const single of CASES) writeFileSync(new URL(`${single.id}.md`, folder), toPage(single))
writeFileSync(new URL('README.md', folder), toIndex(CASES))
