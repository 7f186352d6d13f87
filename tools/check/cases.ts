import { SIGNATURE_NAME } from '../../src/protocol/signature-name.ts'
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

/** Returns a check whose text names this signature header, and not the default one. */
export function nameHeader<T extends GroupedCase>(single: T, name: string): T {
  const write = (text: string) =>
    text.replaceAll(SIGNATURE_NAME, name).replaceAll(SIGNATURE_NAME.toLowerCase(), name.toLowerCase())
  const { sends, expects, why, fix } = single
  return { ...single, sends: write(sends), expects: write(expects), why: write(why), fix: write(fix) }
}
