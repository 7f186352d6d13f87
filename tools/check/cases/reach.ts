import { isLoopback } from '../../../src/protocol/loopback.ts'
import { SERVICE_DEADLINE_MS } from '../../../src/protocol/schedule.ts'
import type { Case } from '../case.ts'
import { FORGED } from '../maker.ts'
import {
  isPutOff,
  isRefusal,
  isSuccess,
  isUnjudged,
  MUST_BE_ACCEPTED,
  notAccepted,
  SHOULD_BE_ACCEPTED,
  toVerdict,
} from '../verdict.ts'
import { judgeAll, listTypes, narrow, prepare } from '../work.ts'

const COMFORTABLE_MS = 2_000
/** The half of the deadline, for answers to several types at a time. */
const SLOW_MS = SERVICE_DEADLINE_MS / 2

export const reach: readonly Case[] = [
  {
    id: 'accepts-valid',
    ...MUST_BE_ACCEPTED,
    sends: 'A contact.created event, signed with the given secret.',
    why: 'Anything but a 2xx is a failed attempt, even a redirect that only adds a slash; after five of them the event is lost.',
    fix: 'The diagnosis of the report names the reason if it is one of the usual ones. If the receiver refuses the delivery: is the secret the one of this receiver, and is the signature computed over the bytes as received, before any JSON parser? If no answer came: maybe only the first request is slow.',
    alone: true,
    deliver: (make) => make.delivery(make.event()),
  },
  {
    id: 'deadline',
    sends: 'A contact.created event, with nothing else under way, and then one of each type.',
    expects: `An answer within ${SERVICE_DEADLINE_MS / 1_000} s; a warning above ${COMFORTABLE_MS / 1_000} s, for the types above ${SLOW_MS / 1_000} s.`,
    why: 'The service counts an attempt as failed if no 2xx arrives within 10 s, and retries an event whose work may have been done.',
    fix: 'Answer as soon as the event is safely stored, and do slow work from there afterwards.',
    alone: true,
    run: async (scene) => {
      const { make, send, sendOnce } = scene
      const delivery = make.delivery(make.event())
      const first = await sendOnce(delivery)
      // A delivery that is put off after its work has begun is late, however fast the next attempt is answered.
      const answer = isPutOff(first) && first.ms <= COMFORTABLE_MS ? await send(delivery) : first
      if (answer.status === undefined || answer.ms >= SERVICE_DEADLINE_MS) return toVerdict('fail', answer)
      if (isPutOff(answer) && answer !== first) return toVerdict('fail', answer)
      if (answer.ms > COMFORTABLE_MS) return toVerdict('warn', answer)
      const limited = narrow(scene)
      const slow = await judgeAll(listTypes(make), async (type) => {
        const other = await limited.sendOnce(make.delivery((await prepare(limited, type)).event))
        const isLate = other.failureKind === 'timeout' || other.ms >= SERVICE_DEADLINE_MS
        return toVerdict(isLate ? 'fail' : other.ms > SLOW_MS ? 'warn' : 'pass', other)
      })
      return slow.status === 'pass' ? toVerdict('pass', answer) : slow
    },
  },
  {
    id: 'header-lower-case',
    ...SHOULD_BE_ACCEPTED,
    sends: 'An event with its signature in x-service-signature, in lower case.',
    why: 'Header names are case-insensitive: the service writes X-Service-Signature, and HTTP/2 and many proxies write every name in lower case.',
    fix: 'Look the header up with a function of the framework, or compare names without case.',
    deliver: (make) => make.delivery(make.event(), { signatureName: make.signatureHeader.toLowerCase() }),
  },
  {
    id: 'keep-alive',
    sends:
      'Over one connection, one after the other: three events, and between them one with a wrong signature and one without any.',
    expects: '2xx to the three, 4xx to the others. The receiver may close the connection after any of them.',
    why: 'Clients reuse connections. Nothing of one request may leak into the next: neither the unread rest of its body nor the result of its signature check.',
    fix: 'Read or discard the whole body before answering, or answer with "Connection: close" and close the connection. Keep no data of a request on the connection, for example in a handler object that lives as long as the connection.',
    run: async ({ make, sendInTurn }) => {
      const changes = [{}, FORGED, {}, { signature: () => undefined }, {}]
      const answers = await sendInTurn(changes.map((change) => make.delivery(make.event(), change)))
      const isGenuine = (at: number) => at % 2 === 0
      if (answers.length < changes.length)
        return toVerdict('skipped', answers, { note: 'an answer did not end; see answer-ends' })
      const wrong = answers.findIndex((answer, at) => !(isGenuine(at) ? isSuccess(answer) : isRefusal(answer)))
      if (wrong < 0) return toVerdict('pass', answers)
      if (wrong === 0) return notAccepted(answers)
      const isForged = answers.some((answer, at) => !isGenuine(at) && isSuccess(answer))
      if (!isForged && answers.some(isPutOff)) return toVerdict('skipped', answers)
      return toVerdict('fail', answers, { note: `answer ${wrong + 1} is wrong` })
    },
  },
  {
    id: 'answer-ends',
    sends: 'An event, the same one again, one of a type that no receiver knows, and one with a wrong signature.',
    expects: 'Each answer comes to its end in time, within 64 KiB.',
    why: 'A client that waits for the end of an answer runs into its time limit, and the attempt has failed. Each such answer keeps a connection open.',
    fix: 'End every answer: in Node, write is not enough without end. Send no stream.',
    run: async ({ make, send, endTurn }) => {
      const event = make.event()
      const first = await send(make.delivery(event))
      const others = [
        make.delivery(event),
        make.delivery(make.event({ type: 'check.unheard.of', data: {} })),
        make.delivery(make.event(), FORGED),
      ]
      const answers = [first, ...(await Promise.all(others.map(send)))]
      endTurn()
      if (answers.every(({ status }) => status === undefined)) return notAccepted(answers)
      const areWhole = await Promise.all(answers.map(({ isWhole }) => isWhole))
      const found = ['an event', 'a duplicate', 'an unknown type', 'a wrong signature'].filter((_, at) => !areWhole[at])
      if (found.length === 0) return toVerdict('pass', answers)
      return toVerdict('fail', answers, { note: `no end of the answer to ${found.join(', ')}` })
    },
  },
  {
    id: 'https',
    level: 'warn',
    sends: 'Nothing: this check reads only the URL.',
    expects: 'https, unless the host is this machine.',
    why: 'Deliveries hold records of people, and the signature does not hide them.',
    fix: 'Put the receiver behind TLS and register its https URL.',
    run: async ({ target }) => {
      if (target.protocol === 'https:') return toVerdict('pass', [], { note: 'https' })
      if (isLoopback(target)) return toVerdict('pass', [], { note: 'http, on this machine only' })
      return toVerdict('warn', [], { note: `http to ${target.hostname}` })
    },
  },
  {
    id: 'get-not-2xx',
    level: 'warn',
    sends: 'A GET request without a body or a signature.',
    expects: 'An answer, but no 2xx; 405 is usual, and 404 is as good.',
    why: 'A route that answers 2xx to everything also does so if the receiver is not mounted, and nobody notices.',
    fix: 'Mount the receiver for POST only.',
    deliver: (make) => make.delivery('', { method: 'GET', signature: () => undefined }),
    judge: (answer) => toVerdict(isSuccess(answer) || isUnjudged(answer) ? 'warn' : 'pass', answer),
  },
]
