import type { Answer, Case, Scene, Status, TestDelivery, Verdict } from '../case.ts'
import { FORGED } from '../maker.ts'
import { isPutOff, toVerdict } from '../verdict.ts'

interface Refusal extends Omit<Answer, 'body'> {
  readonly body: string
  readonly digest: string
  readonly sent: readonly string[]
}

async function collectRefusals({ make, send }: Scene): Promise<readonly Refusal[]> {
  const event = make.event()
  const digestOf = ({ signatures: [right = ''] }: TestDelivery) => right.slice('sha256='.length)
  const genuine = [make.delivery('{"id": "evt_chk_'), make.delivery(event)]
  const wrong = [
    make.delivery(event, { signature: () => undefined }),
    make.delivery(event, FORGED),
    make.delivery(event, { signature: () => 'sha256=xyz' }),
    make.delivery(event, { signature: (right) => right.slice(0, -2) }),
    make.delivery(event, { contentEncoding: 'gzip' }),
    make.delivery('', { method: 'GET', signature: () => undefined }),
  ]
  const huge = make.delivery(make.event({ note: 'x'.repeat(2 ** 21) }))
  const digest = digestOf(make.delivery(event))
  const collect = async (delivery: TestDelivery, right: string) => {
    const answer = await send(delivery)
    return { ...answer, body: await answer.body, digest: right, sent: delivery.signatures }
  }
  return Promise.all([
    ...wrong.map((delivery) => collect(delivery, digest)),
    ...[...genuine, huge].map((delivery) => collect(delivery, digestOf(delivery))),
  ])
}

const SENDS =
  'Deliveries without a signature, with a wrong, a malformed and a short one, and with a Content-Encoding; signed deliveries that are an event, not JSON, or of 2 MiB; and a GET request.'
const FIX = 'Answer with a fixed error code, and write the details to your own log.'

/** A shorter secret may be part of common words. */
const MIN_SECRET_BYTES = 8

/** Joins everything in an answer except its status and the signatures that were sent, which the receiver may repeat. */
const textOf = ({ words, headers, body, sent }: Refusal) =>
  sent.reduce((text, signature) => text.replaceAll(signature, ''), [words, ...Object.values(headers), body].join('\n'))

/** Returns true if a text holds these bytes in one of the usual forms: hexadecimal digits, base64 or a list of numbers. */
function holds(text: string, bytes: Buffer): boolean {
  const list = [...bytes].join(',')
  return (
    text.toLowerCase().includes(bytes.toString('hex')) ||
    text.replaceAll('-', '+').replaceAll('_', '/').includes(bytes.toString('base64').replace(/=+$/, '')) ||
    text.replace(/\s/g, '').includes(list)
  )
}

/** Refusals by the maker of a run: all checks of this group search the same ones. */
const refusals = new WeakMap<Scene['make'], ReturnType<typeof collectRefusals>>()

/** Searches all refusals; skipped if no answer came, or if some deliveries were not judged. */
async function search(scene: Scene, what: string, isTold: (answer: Refusal) => boolean): Promise<Verdict> {
  const collecting = refusals.get(scene.make) ?? collectRefusals(scene)
  refusals.set(scene.make, collecting)
  const answers = await collecting
  const conclude = (status: Status, note: string) => toVerdict(status, [], { note })
  if (answers.some(isTold)) return conclude('fail', `an answer holds ${what}`)
  if (answers.every(({ status }) => status === undefined)) return conclude('skipped', 'no answer came')
  const putOff = answers.filter(isPutOff).length
  if (putOff > 0) return conclude('skipped', `${putOff} of ${answers.length} deliveries were put off`)
  return conclude('pass', 'no answer holds it')
}

export const leak: readonly Case[] = [
  {
    id: 'leak-digest',
    sends: SENDS,
    expects:
      'No answer holds the signature that would have been right: not in its body, headers or first line, as hexadecimal digits or as base64.',
    why: 'An attacker who learns the expected digest sends the same body again with it, and the receiver accepts it.',
    fix: FIX,
    run: (scene) =>
      search(scene, 'the expected digest', (answer) => holds(textOf(answer), Buffer.from(answer.digest, 'hex'))),
  },
  {
    id: 'leak-secret',
    sends: SENDS,
    expects: 'No answer holds the secret in its body, headers or first line.',
    why: 'An attacker needs nothing but the secret.',
    fix: FIX,
    run: async (scene) => {
      const secret = Buffer.from(scene.secret)
      if (secret.length < MIN_SECRET_BYTES)
        return toVerdict('skipped', [], { note: 'the secret is so short that any answer may hold it by chance' })
      const text = secret.toString()
      const written = [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text)]
      const isTold = (answer: string) => written.some((form) => answer.includes(form)) || holds(answer, secret)
      return search(scene, 'the secret', (answer) => isTold(textOf(answer)))
    },
  },
  {
    id: 'leak-stack',
    sends: SENDS,
    expects: 'No answer holds a stack trace in its body, headers or first line.',
    why: 'Paths, versions and function names tell an attacker what to look for.',
    fix: 'Catch errors before the framework prints them, and run in production mode.',
    run: (scene) => search(scene, 'a stack trace', (answer) => STACKS.some((stack) => stack.test(textOf(answer)))),
  },
]

/** Stack traces of JavaScript, Python, Java, C#, Go, Ruby and PHP. Without limits, a page on one long line would take minutes. */
const STACKS: readonly RegExp[] = [
  /\bat .{0,500}(\.[cm]?[jt]sx?|\bnode:[\w/]+):\d+:\d+/,
  /Traceback \(most recent call last\)/,
  /(\b|\\t)at [\w$./<>@-]+\([\w$]+\.(java|kt|scala):\d+\)/,
  /:line \d+(?<=\bat .{1,500}\) in .{1,500})/,
  /goroutine \d+ \[/,
  /\.rb:\d+:in /,
  /#0 .{1,500}\.php\(\d+\)/,
  /\bin .{1,500}\.php(<\/b>)? on line /,
  /"file": ?"[^"]+\.\w+", ?"line": ?\d/,
]
