/** Writes `docs/reference/checks.md` from the source of the checks: `npx tsx scripts/check-page.ts`. A test compares the two. */
import { writeFileSync } from 'node:fs'
import { CASES } from '../src/check/cases.ts'
import { toReference } from '../src/check/page.ts'

writeFileSync(new URL('../docs/reference/checks.md', import.meta.url), toReference(CASES))
