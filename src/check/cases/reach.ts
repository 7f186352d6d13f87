import { SERVICE_DEADLINE_MS } from '../../protocol/schedule.ts'
import { SIGNATURE_NAME } from '../../wire/signature-name.ts'
import { isLoopback } from '../../wire/target.ts'
import type { Case } from '../case.ts'
import { FORGED } from '../forgery.ts'
import {
  describe,
  isPutOff,
  isRedirect,
  isRefusal,
  isSuccess,
  mustBeAccepted,
  shouldBeAccepted,
  toVerdict,
} from '../verdict.ts'

const COMFORTABLE_MS = 2_000

/** Whether deliveries get there, and answers back in time. */
export const reach: readonly Case[] = [
  {
    id: 'accepts-valid',
    level: 'fail',
    sends: 'A contact.created event, signed with the secret that was given.',
    expects: '2xx',
    why: 'Anything but a 2xx is a failed attempt; after five of them the event is lost.',
    fix: 'Is the secret the one of this receiver? Is the signature computed over the bytes as they came in, before any JSON parser? The diagnosis of the report tells what it is, if it is one of the usual mistakes.',
    alone: true,
    deliver: (make) => make.delivery(make.event()),
    judge: mustBeAccepted,
  },
  {
    id: 'deadline',
    level: 'fail',
    sends: 'A contact.created event, with nothing else under way.',
    expects: `An answer within ${SERVICE_DEADLINE_MS / 1_000} s; a warning above ${COMFORTABLE_MS / 1_000} s.`,
    why: 'The service counts an attempt as failed when no 2xx came within 10 s, and delivers again what may have been done.',
    fix: 'Answer as soon as the event is safely stored, and do slow work after that from the store.',
    alone: true,
    run: async ({ make, send, sendOnce }) => {
      const delivery = make.delivery(make.event())
      const first = await sendOnce(delivery)
      // What is put off after the work has begun is late, however fast the answer to the next attempt.
      const answer = isPutOff(first) && first.ms <= COMFORTABLE_MS ? await send(delivery) : first
      if (answer.status === undefined || answer.ms >= SERVICE_DEADLINE_MS) return toVerdict('fail', answer)
      return toVerdict(answer.ms > COMFORTABLE_MS ? 'warn' : 'pass', answer)
    },
  },
  {
    id: 'no-redirect',
    level: 'fail',
    sends: 'A contact.created event to the URL exactly as it was given.',
    expects: 'No 3xx.',
    why: 'The service takes only a 2xx; a redirect is a failed attempt, also one that only adds or drops a slash at the end of the path.',
    fix: 'Register the URL that the redirect leads to, with or without the slash, and with https where the host asks for it.',
    alone: true,
    deliver: (make) => make.delivery(make.event()),
    judge: (answer) => toVerdict(isRedirect(answer) ? 'fail' : answer.status === undefined ? 'fail' : 'pass', answer),
  },
  {
    id: 'header-lower-case',
    level: 'warn',
    sends: 'An event whose signature is in x-service-signature, in lower case.',
    expects: '2xx; otherwise a warning.',
    why: 'Names of headers have no case: the service writes X-Service-Signature, and HTTP/2 and many proxies write every name in lower case.',
    fix: 'Look the header up by a function of the framework, or by a comparison without case.',
    deliver: (make) => make.delivery(make.event(), { signatureName: SIGNATURE_NAME.toLowerCase() }),
    judge: shouldBeAccepted,
  },
  {
    id: 'keep-alive',
    level: 'fail',
    sends: 'By one connection, one after the other: an event, an event with a wrong signature, and one more event.',
    expects: '2xx, 4xx and 2xx. The receiver may end the connection after any of them.',
    why: 'Clients use a connection again. What is left of one request must not become part of the next: not its body that was not read, and not that its signature was right.',
    fix: 'Read or discard the whole body before the answer, or answer with "Connection: close" and end the connection. Keep nothing of a request on the connection, such as in a handler object that lives as long as it.',
    run: async ({ make, sendInTurn }) => {
      const forged = make.delivery(make.event(), FORGED)
      const answers = await sendInTurn([make.delivery(make.event()), forged, make.delivery(make.event())])
      const reason = answers.map(describe).join(', then ')
      const [first, second, third] = answers.map((answer) => ({ is2xx: isSuccess(answer), is4xx: isRefusal(answer) }))
      if (first?.is2xx !== true) return { status: 'skipped', reason: `the event was not accepted: ${reason}` }
      return { status: second?.is4xx === true && third?.is2xx === true ? 'pass' : 'fail', reason }
    },
  },
  {
    id: 'https',
    level: 'warn',
    sends: 'Nothing: the URL itself is looked at.',
    expects: 'https, unless the host is this machine.',
    why: 'Deliveries hold records of people, and the signature does not hide them.',
    fix: 'Put the receiver behind TLS and register its https URL.',
    run: async ({ target }) => {
      if (target.protocol === 'https:') return { status: 'pass', reason: 'https' }
      if (isLoopback(target)) return { status: 'pass', reason: 'http, on this machine only' }
      return { status: 'warn', reason: `http to ${target.hostname}` }
    },
  },
  {
    id: 'get-not-2xx',
    level: 'warn',
    sends: 'A GET request without a body or a signature.',
    expects: 'An answer, but no 2xx; 405 is usual, and 404 as good.',
    why: 'A route that says 2xx to anything also says it when the receiver is not mounted, and nobody notices.',
    fix: 'Mount the receiver for POST only.',
    deliver: (make) => make.delivery('', { method: 'GET', signature: () => undefined }),
    judge: (answer) => toVerdict(isSuccess(answer) || answer.status === undefined ? 'warn' : 'pass', answer),
  },
]
