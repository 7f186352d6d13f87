import { SIGNATURE_NAME } from '../../src/protocol/signature-name.ts'
import { type Case, GROUPS, type Group, type Level, type Maker } from './case.ts'
import { bytes } from './cases/bytes.ts'
import { effect } from './cases/effect.ts'
import { effectFailure } from './cases/effect-failure.ts'
import { effectOnce } from './cases/effect-once.ts'
import { leak } from './cases/leak.ts'
import { load } from './cases/load.ts'
import { meaning } from './cases/meaning.ts'
import { reach } from './cases/reach.ts'
import { signature } from './cases/signature.ts'
import { signatureBodies } from './cases/signature-bodies.ts'
import { signatureForms } from './cases/signature-forms.ts'
import { time } from './cases/time.ts'
import { PLAIN_TYPE } from './maker.ts'

const BY_GROUP: Readonly<Record<Group, readonly Case[]>> = {
  reach,
  signature: [...signature, ...signatureBodies, ...signatureForms],
  bytes,
  meaning,
  time,
  leak,
  effect: [...effect, ...effectOnce, ...effectFailure],
  load,
}

/** Names in the text of a check. */
type Names = Pick<Maker, 'signatureHeader' | 'plainType' | 'model'>

export type GroupedCase = Case & { readonly group: Group; readonly level: Level }

/** All checks, in the order in which they run. */
export const CASES: readonly GroupedCase[] = GROUPS.flatMap((group) =>
  BY_GROUP[group].map((single) => ({ level: 'fail', ...single, group })),
)

/** Returns a check whose text names this signature header, type and model, and not the default ones. */
export function nameFor<T extends GroupedCase>(single: T, { signatureHeader, plainType, model }: Names): T {
  const write = (text: string) =>
    text
      .replaceAll(SIGNATURE_NAME, signatureHeader)
      .replaceAll(SIGNATURE_NAME.toLowerCase(), signatureHeader.toLowerCase())
      .replaceAll(PLAIN_TYPE, plainType)
      .replace(/\bcontact\.(?=updated|deleted)/g, `${model}.`)
  const { sends, expects, why, fix } = single
  return { ...single, sends: write(sends), expects: write(expects), why: write(why), fix: write(fix) }
}
