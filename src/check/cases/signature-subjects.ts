import type { Case, Scene, Verdict } from '../case.ts'
import type { Delivery } from '../exchange.ts'
import { FORGED, signWith } from '../forgery.ts'
import { mustBeRefused } from '../verdict.ts'

const WHY = 'Whoever knows the URL can send events that the service never sent.'
/** Accounts that no receiver knows; the second is the name of what every object of JavaScript has. */
const UNKNOWN = ['check-unheard-of', 'constructor']

/** Refused are all of them, or which is not. */
async function refuseAll({ send }: Scene, deliveries: readonly (readonly [what: string, delivery: Delivery])[]) {
  let verdict: Verdict = { status: 'skipped', reason: 'nothing was sent' }
  for (const [what, delivery] of deliveries) {
    verdict = mustBeRefused(await send(delivery))
    if (verdict.status !== 'pass') return { ...verdict, reason: `${what}: ${verdict.reason}` }
  }
  return verdict
}

/** Whether it is refused whatever it is about. */
export const signatureSubjects: readonly Case[] = [
  {
    id: 'signature-other-types',
    level: 'fail',
    sends:
      'Events of four types with a wrong signature: contact.deleted, finance.payment.completed, one that no receiver knows, and none.',
    expects: '401 or another 4xx to each. Never 2xx, never 5xx.',
    why: `${WHY} A check that only some routes or types have is forgotten for the next.`,
    fix: 'Check the signature in one place, before the type is looked at.',
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
      'Events of accounts that the receiver can not know: with a wrong signature, and signed with an empty secret and with the word "undefined".',
    expects: '401 or another 4xx to each. Never 2xx, never 5xx.',
    why: `${WHY} Where the secret is looked up by the account, there is none for an unknown one: what comes out must neither be a key nor end in an error.`,
    fix: 'Answer 401 where the account has no secret, before anything is computed. In JavaScript, look it up in a Map: an object has a "constructor".',
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
    why: 'Who reads a field of the body before the signature is checked fails at it, and anybody can send it. In some servers that is the end of the process.',
    fix: 'Check the signature of the bytes first. If the secret depends on the account that the body names, look whether the JSON is an object.',
    deliver: (make) => make.delivery('null', FORGED),
    judge: mustBeRefused,
  },
]
