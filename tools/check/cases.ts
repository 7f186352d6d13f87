import { type Case, GROUPS, type Group, type Level } from './case.ts'
import { bytes } from './cases/bytes.ts'
import { effect } from './cases/effect.ts'
import { effectFailure } from './cases/effect-failure.ts'
import { leak } from './cases/leak.ts'
import { load } from './cases/load.ts'
import { meaning } from './cases/meaning.ts'
import { reach } from './cases/reach.ts'
import { signature } from './cases/signature.ts'
import { signatureForms } from './cases/signature-forms.ts'
import { time } from './cases/time.ts'

const BY_GROUP: Readonly<Record<Group, readonly Case[]>> = {
  reach,
  signature: [...signature, ...signatureForms],
  bytes,
  meaning,
  time,
  leak,
  effect: [...effect, ...effectFailure],
  load,
}

export type GroupedCase = Case & { readonly group: Group; readonly level: Level }

/** All checks, in the order in which they run. */
export const CASES: readonly GroupedCase[] = GROUPS.flatMap((group) =>
  BY_GROUP[group].map((single) => ({ level: 'fail', ...single, group })),
)
