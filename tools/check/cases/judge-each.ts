import type { Answer, Scene, TestDelivery, Verdict } from '../case.ts'
import { toVerdict } from '../verdict.ts'

const MOST_NAMED = 3

/** Sends deliveries one after the other, and passes if each does; otherwise names those that do not. */
export async function judgeEach(
  { send }: Scene,
  deliveries: readonly (readonly [what: string, delivery: TestDelivery])[],
  judge: (answer: Answer) => Verdict,
): Promise<Verdict> {
  let last = toVerdict('skipped', [])
  let first: Verdict | undefined
  const named: string[] = []
  for (const [what, delivery] of deliveries) {
    last = judge(await send(delivery))
    if (last.status === 'pass') continue
    first ??= last
    named.push(what)
  }
  if (first === undefined) return last
  const more = named.length > MOST_NAMED ? ` and ${named.length - MOST_NAMED} more` : ''
  return { ...first, note: `${named.slice(0, MOST_NAMED).join(', ')}${more}` }
}
