import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Case, Scene } from '../case.ts'
import { FORGED } from '../maker.ts'
import {
  isPutOff,
  isRefusal,
  isSuccess,
  MUST_BE_ACCEPTED,
  MUST_NOT_CRASH,
  mustBeAccepted,
  toVerdict,
} from '../verdict.ts'
import { judgeAll } from '../work.ts'
import { CUT_MS, cutAt, inHalves, sendAtOnce } from './send-at-once.ts'

const BURST = 50
/** Size of a second burst, which would fill most queues in memory, and the time in which a receiver has to be able to do its work. */
const [LARGEST_BURST, BURST_MS] = [400, 3_000]

/** Returns the number of events that this receiver finishes in the time, by what it needed for these; 0 if it did not finish them. */
async function countQuick({ probe, wait }: Scene, answers: readonly Answer[], startedAt: number): Promise<number> {
  const elapsed = () => performance.now() - startedAt
  for (const { event } of answers) {
    // A check of the work reports a probe that fails.
    while (event !== undefined && (await probe?.runs(event.id).catch(() => 0)) === 0) {
      if (elapsed() >= BURST_MS) return 0
      await wait(20)
    }
  }
  return Math.floor((answers.length * BURST_MS) / elapsed())
}

/** Number of connections that are cut at each moment: more than the places of most pools. */
const CUTS = 16

/** Time between the parts of a slow body. */
const PAUSE_MS = 2_500
const STALLED = 8

const MIB = 1_048_576
/** Size of a body that no event has, and more than the system keeps for a receiver that does not read it. */
const ENDLESS_MIB = 16
const PART_BYTES = 65_536
const CHUNKED = 'in chunked encoding'
const ENDLESS = [CHUNKED, 'with a declared length']

/** Time for an answer to the head of a delivery. */
const HEAD_MS = 200

/** Sends the head before the body: a sender that still writes when the connection is closed may lose the answer. */
async function* afterHead(body: Uint8Array): AsyncGenerator<Uint8Array> {
  await sleep(HEAD_MS)
  yield body
}

const cases: readonly Case[] = [
  {
    id: 'large-body',
    ...MUST_BE_ACCEPTED,
    sends: 'An event of 256 KiB.',
    why: 'Users decide how many fields a record has and how long they are, and the service documents no limit. Parsers often stop at 100 kB.',
    fix: 'Raise the limit of the body reader, and of the proxy in front of it, to 1 MiB.',
    deliver: (make) => make.delivery(make.event({ note: 'x'.repeat(256 * 1_024) })),
  },
  {
    id: 'huge-body',
    sends: 'An event of 2 MiB.',
    expects: '2xx or 413; a warning for another 4xx or a connection that ends. Never 5xx.',
    why: 'A receiver needs some limit, and 413 tells the sender that it was reached.',
    fix: 'Answer 413 from the declared length, and end the connection after the answer.',
    deliver: (make) => make.delivery(make.event({ note: 'x'.repeat(2 * MIB) }), { toParts: afterHead }),
    judge: (answer) => {
      if (isSuccess(answer)) return toVerdict('pass', answer)
      if (answer.status === 413) return toVerdict('pass', answer, { note: 'the limit is below 2 MiB' })
      return toVerdict(isRefusal(answer) || answer.status === undefined ? 'warn' : 'fail', answer)
    },
  },
  {
    id: 'endless-body',
    level: 'warn',
    sends: `Two bodies of ${ENDLESS_MIB} MiB with a wrong signature: one in chunked encoding, one with a declared length.`,
    expects:
      'Another answer than 2xx, or the end of the connection, before all of it is sent; or 413. Otherwise a warning.',
    why: 'Anyone can send this. A receiver that keeps a body until its end, to check the signature of it, can be filled with a few of them until it has no memory left.',
    fix: 'Stop at a limit, such as 1 MiB, and answer 413; from the declared length if there is one, and otherwise when that many bytes have arrived.',
    run: ({ make, sendOnce }) =>
      judgeAll(
        ENDLESS,
        async (name) => {
          let sent = 0
          async function* toParts(body: Uint8Array): AsyncGenerator<Uint8Array> {
            for (; sent < body.length; sent += PART_BYTES) yield body.subarray(sent, sent + PART_BYTES)
          }
          const forged = make.delivery('', { ...FORGED, toParts, isChunked: name === CHUNKED })
          const body = Buffer.alloc(ENDLESS_MIB * MIB, ' ')
          const answer = await sendOnce({ ...forged, body })
          if (isSuccess(answer)) return toVerdict('fail', answer)
          if (answer.status === 413) return toVerdict('pass', answer)
          if (sent >= body.length) return toVerdict('fail', answer, { note: `it read ${ENDLESS_MIB} MiB` })
          return toVerdict(answer.failureKind === 'timeout' ? 'skipped' : 'pass', answer)
        },
        1,
      ),
  },
  {
    id: 'slow-body',
    ...MUST_BE_ACCEPTED,
    sends: `An event whose second half comes ${PAUSE_MS / 1_000} s after the first.`,
    why: 'Networks lose packets, and a sender under load writes slowly. The service waits ten seconds for the answer, so a delivery may take several.',
    fix: 'Allow a body several seconds to arrive, and limit its size instead.',
    deliver: (make) => make.delivery(make.event(), { toParts: inHalves(() => sleep(PAUSE_MS)) }),
  },
  {
    id: 'stalled-bodies',
    level: 'warn',
    sends: `An event, while ${STALLED} unsigned deliveries have sent half of their body and no more.`,
    expects: '2xx to the event; otherwise a warning.',
    why: 'Anyone can open such requests and leave them. A receiver that takes a lock, a place in a pool or its only turn before it has read the body then serves nobody else.',
    fix: 'Read the body first, with a time limit; take locks and connections once its signature holds.',
    run: async ({ make, send, sendOnce, wait }) => {
      let end = () => {}
      const isOver = new Promise<void>((resolve) => {
        end = resolve
      })
      const stall = inHalves(async () => {
        await isOver
        throw new Error('cut on purpose')
      })
      const stalled = Array.from({ length: STALLED }, () =>
        sendOnce(make.delivery(make.event(), { signature: () => undefined, toParts: stall })),
      )
      await wait(CUT_MS)
      const answer = await send(make.delivery(make.event()))
      end()
      await Promise.all(stalled)
      return mustBeAccepted(answer)
    },
  },
  {
    id: 'cut-connection',
    expects: '2xx to the last.',
    sends: `${CUTS} events whose sender closes the connection before the last byte, ${CUTS} whose sender closes it after that, and then another one.`,
    why: 'Networks end connections at any moment. An error that a body reader or an answer then throws outside of the handler ends the process in some servers. Code that releases a connection or a lock once it has answered keeps it then, until none is left.',
    fix: 'Catch the errors of request and response, such as "aborted" and EPIPE, inside the handler, and release there what it holds (finally).',
    run: async ({ make, send, sendOnce }) => {
      for (const cutMs of [undefined, 0]) {
        const cuts = Array.from({ length: CUTS }, () => make.delivery(make.event(), { toParts: cutAt(cutMs) }))
        await Promise.all(cuts.map(sendOnce))
      }
      return mustBeAccepted(await send(make.delivery(make.event())))
    },
  },
  {
    id: 'signed-not-json',
    ...MUST_NOT_CRASH,
    sends: 'A signed body that is not JSON.',
    why: 'An error here is one that the code did not expect. In some servers it ends the process.',
    fix: 'Catch the error of the JSON parser, and answer 400.',
    deliver: (make) => make.delivery('{"id": "evt_chk_'),
  },
  {
    id: 'signed-empty',
    ...MUST_NOT_CRASH,
    sends: 'An empty body with the right signature.',
    why: 'Body readers often return undefined for an empty body, and the code that follows throws.',
    fix: 'Treat an empty body as zero bytes, and answer 400.',
    deliver: (make) => make.delivery(''),
  },
  {
    id: 'signed-null',
    ...MUST_NOT_CRASH,
    sends: 'The JSON value null, signed.',
    why: 'It is JSON, but not an object. Code that reads a field of it throws an error that was not expected.',
    fix: 'Check that the JSON is an object with an id and a type, and answer 400 if it is not.',
    deliver: (make) => make.delivery('null'),
  },
  {
    id: 'burst',
    sends: `${BURST} events concurrently, and then as many as the receiver needs ${BURST_MS / 1_000} s for, up to ${LARGEST_BURST}. It is skipped if the receiver is so slow that the last of ${BURST} would get no answer in time.`,
    expects: '2xx to all; a warning if some get 429, or 503 with Retry-After, while others get 2xx.',
    why: 'An import or a sync sends many events at the same moment.',
    fix: 'Queue them instead of refusing them, and keep database connections in a pool. If some failed after the time for which they wait for a lock ("database is locked", a lock timeout), write one after the other. If some were acknowledged and not done: a queue or pool that is full must refuse with 503 instead of dropping; requests must share no variable; and events must be told apart by their whole id, neither by their timestamp nor by a short hash, which takes some of many for duplicates.',
    run: async (scene) => {
      const { make } = scene
      const sendBurst = (length: number) =>
        sendAtOnce(
          scene,
          Array.from({ length }, () => make.delivery(make.event())),
        )
      // A slow receiver gets as many at a time as it seems to answer in time, and shows by them how fast it is.
      const paced = scene.countRoom() < BURST ? await sendBurst(BURST) : []
      const room = scene.countRoom()
      if (paced.every(isSuccess) && room < BURST)
        return toVerdict('skipped', paced, { cause: 'too_slow', note: `it answers about ${room} events in time` })
      const startedAt = performance.now()
      const first = paced.every(isSuccess) ? await sendBurst(BURST) : paced
      const quick = first.every(isSuccess) ? await countQuick(scene, first, startedAt) : 0
      const answers = quick > BURST ? [...first, ...(await sendBurst(Math.min(quick, LARGEST_BURST)))] : first
      const others = answers.filter((answer) => !isSuccess(answer))
      if (others.length === 0) return toVerdict('pass', answers)
      return toVerdict(others.every(isPutOff) && others.length < answers.length ? 'warn' : 'fail', answers)
    },
  },
  {
    id: 'alive-after-all',
    ...MUST_BE_ACCEPTED,
    sends: 'An event, after all checks but effect-after-failures.',
    why: 'If one of the deliveries ended the process of the receiver, it accepts no further ones.',
    fix: 'The log of the receiver says which request ended it. Catch the errors of every request inside its own handler.',
    deliver: (make) => make.delivery(make.event()),
  },
]

export const load: readonly Case[] = cases.map((single) => ({ ...single, alone: true }))
