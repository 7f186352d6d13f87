import { createHmac } from 'node:crypto'
import type { Case, Maker, Scene, Verdict } from '../case.ts'
import type { Delivery } from '../exchange.ts'
import { mustBeRefused } from '../verdict.ts'

const WHY = 'Whoever knows the URL can send events that the service never sent.'
const WRONG = () => `sha256=${'0'.repeat(64)}`
/** Accounts that no receiver knows; the second is the name of what every object of JavaScript has. */
const UNKNOWN = ['check-unheard-of', 'constructor']

const withKey = (make: Maker, accountKey: string, key: string): Delivery => {
  const { body } = make.delivery(make.event({ accountKey }))
  return make.delivery(body, { signature: () => `sha256=${createHmac('sha256', key).update(body).digest('hex')}` })
}

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
          scene.make.delivery(scene.make.event({ type }), { signature: WRONG }),
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
        (accountKey) =>
          [`of "${accountKey}"`, make.delivery(make.event({ accountKey }), { signature: WRONG })] as const,
      )
      const [unknown = ''] = UNKNOWN
      return refuseAll(scene, [
        ...forged,
        ['signed with an empty secret', withKey(make, unknown, '')],
        ['signed with "undefined"', withKey(make, unknown, 'undefined')],
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
    deliver: (make) => make.delivery('null', { signature: WRONG }),
    judge: mustBeRefused,
  },
]
