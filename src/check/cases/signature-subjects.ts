import type { Case, Scene, TestDelivery, Verdict } from '../case.ts'
import { FORGED, signWith } from '../maker.ts'
import { mustBeRefused } from '../verdict.ts'

const WHY = 'Anyone who knows the URL can send events that the service never sent.'
/** Accounts that no receiver knows; the second is the name of a property that every JavaScript object has. */
const UNKNOWN = ['check-unheard-of', 'constructor']

/** Passes if all deliveries are refused, otherwise names the first one that is not. */
async function refuseAll({ send }: Scene, deliveries: readonly (readonly [what: string, delivery: TestDelivery])[]) {
  let verdict: Verdict = { status: 'skipped', reason: 'nothing was sent' }
  for (const [what, delivery] of deliveries) {
    verdict = mustBeRefused(await send(delivery))
    if (verdict.status !== 'pass') return { ...verdict, reason: `${what}: ${verdict.reason}` }
  }
  return verdict
}

/** Checks that forgeries are refused whatever their type, account or JSON value. */
export const signatureSubjects: readonly Case[] = [
  {
    id: 'signature-other-types',
    level: 'fail',
    sends:
      'Events of four types with a wrong signature: contact.deleted, finance.payment.completed, one that no receiver knows, and none.',
    expects: '401 or another 4xx to each. Never 2xx, never 5xx.',
    why: `${WHY} A check that each route or type repeats is forgotten for the next one.`,
    fix: 'Check the signature in one place, before reading the type.',
    run: (scene) =>
      refuseAll(
        scene,
        ['contact.deleted', 'finance.payment.completed', 'check.unheard.of', undefined].map((type) => [
          type ?? 'without a type',
          scene.make.delivery(scene.make.event({ type }), FORGED),
        ]),
      ),
  },
  {
    id: 'signature-unknown-account',
    level: 'fail',
    sends:
      'Events of accounts that the receiver cannot know: with a wrong signature, signed with an empty secret, and signed with the word "undefined".',
    expects: '401 or another 4xx to each. Never 2xx, never 5xx.',
    why: `${WHY} A receiver that looks up the secret by the account finds none for an unknown account: the result must not be used as a key and must not cause an error.`,
    fix: 'Answer 401 if the account has no secret, before computing anything. In JavaScript, look it up in a Map: every object has a "constructor".',
    run: (scene) => {
      const { make } = scene
      const forged = UNKNOWN.map(
        (accountKey) => [`of "${accountKey}"`, make.delivery(make.event({ accountKey }), FORGED)] as const,
      )
      const [accountKey = ''] = UNKNOWN
      return refuseAll(scene, [
        ...forged,
        ['signed with an empty secret', signWith(make, '', make.event({ accountKey }))],
        ['signed with "undefined"', signWith(make, 'undefined', make.event({ accountKey }))],
      ])
    },
  },
  {
    id: 'signature-null',
    level: 'fail',
    sends: 'The JSON value null with a wrong signature.',
    expects: '401; another 4xx passes with a note. Never 2xx, never 5xx.',
    why: 'Code that reads a field of the body before it checks the signature throws on null, and anyone can send it. In some servers the error ends the process.',
    fix: 'Check the signature of the bytes first. If the secret depends on the account named in the body, first check that the JSON is an object.',
    deliver: (make) => make.delivery('null', FORGED),
    judge: mustBeRefused,
  },
]
