import { setTimeout as sleep } from 'node:timers/promises'
import { type KeptConnection, keepConnection } from '../wire/exchange.ts'
import type { AcknowledgedEvent, Answer, Counting, Maker, Scene, TestDelivery } from './case.ts'
import { createMaker, type MakerOptions } from './maker.ts'
import { createPace } from './pace.ts'
import { watchRefusals } from './refusals.ts'
import { sendDelivery } from './send.ts'
import { isPutOff, isSuccess, readRetryAfterMs } from './verdict.ts'

const GRACE_MS = 1_000
/** As many checks as run at the same time by default: no single one has made all of them wait. */
const SILENT_DELIVERIES = 8
/** Time limit for a receiver that has left as many deliveries unanswered, unless it took a third of that for others. */
const SHORT_TIMEOUT_MS = 2_000

export interface SceneOptions extends MakerOptions, Pick<Scene, 'target' | 'patienceMs' | 'probe'> {
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

/** Answer to a delivery that is not sent, since the receiver answers nothing in time. */
const SILENCE: Answer = {
  status: undefined,
  failure: 'not sent, since the receiver answered nothing in time',
  failureKind: 'timeout',
  isUnreachable: false,
  words: '',
  headers: {},
  body: Promise.resolve(''),
  isWhole: Promise.resolve(true),
  ms: 0,
}

const NOTHING_COUNTED: Counting = {
  sent: Promise.resolve(),
  types: Promise.resolve([]),
  losses: Promise.resolve([]),
}

export type RunScene = ReturnType<typeof createScene>

export function createScene(options: SceneOptions) {
  const { target, secret, patienceMs, probe, signal } = options
  /** Aborts deliveries that are still under way a moment after the run is interrupted. */
  const cut = new AbortController()
  const cutSoon = () => setTimeout(() => cut.abort(signal?.reason), GRACE_MS).unref()
  signal?.addEventListener('abort', cutSoon, { once: true })
  /** Patience that is left for all deliveries, once one delivery has used all of it. */
  let patience = patienceMs
  const make = createMaker(options)
  const watched = watchDeliveries(options, make, cut.signal)
  const { acknowledged, sendOnce } = watched
  const putOffBy = new Map<Answer['status'], number>()
  // A signal of its own for each wait: of many listeners at one signal, Node would warn as a leak.
  const wait = (ms: number): Promise<void> => sleep(ms, undefined, signal && { signal: AbortSignal.any([signal]) })
  const sendPatiently = async (attempt: () => Promise<Answer>): Promise<Answer> => {
    let end: number | undefined
    for (;;) {
      const answer = await attempt()
      if (!isPutOff(answer)) return answer
      const waitMs = Math.max(readRetryAfterMs(answer) ?? Infinity, 50)
      // Counts from the first answer, so that a delivery put off by exactly `patienceMs` is still sent again.
      const now = performance.now()
      end ??= now + patience
      if (now + waitMs > end) {
        putOffBy.set(answer.status, waitMs)
        if (waitMs < Infinity) patience = 0
        return answer
      }
      await wait(waitMs)
    }
  }
  return {
    ...watched,
    make,
    target,
    secret: typeof secret === 'string' ? Buffer.from(secret) : secret,
    patienceMs,
    probe,
    acknowledged,
    sendOnce: (delivery: TestDelivery) => sendOnce(delivery),
    send: (delivery: TestDelivery) => sendPatiently(() => sendOnce(delivery)),
    sendInTurn: (deliveries: readonly TestDelivery[]) => {
      const agent = keepConnection(target)
      const send = (delivery: TestDelivery) => sendPatiently(() => sendOnce(delivery, agent))
      return sendInTurn(deliveries, send).finally(() => agent.destroy())
    },
    wait,
    endTurn() {},
    counting: () => NOTHING_COUNTED,
    /** Statuses by which deliveries were put off for longer than `patienceMs`, or for an unknown time, each with the last time. */
    putOffBy,
    close() {
      signal?.removeEventListener('abort', cutSoon)
      cut.abort()
    },
  }
}

/** Sends deliveries, and watches whether the receiver answers them. */
function watchDeliveries(options: SceneOptions, make: Maker, cut: AbortSignal) {
  const { target, timeoutMs, signal } = options
  let [answers, unanswered, unansweredInARow, longestMs] = [0, 0, 0, 0]
  let isUnreachable = false
  const acknowledged = new Map<string, AcknowledgedEvent>()
  const shutting = watchRefusals(options, make, (delivery) => deliver(delivery))
  /** Result of one more delivery to a receiver that answered none of the last ones; kept if that is not answered either. */
  let waking: Promise<boolean> | undefined
  const isHanging = async (): Promise<boolean> => {
    if (answers === 0 || unansweredInARow < SILENT_DELIVERIES) return false
    waking ??= deliver(make.delivery(make.event())).then(({ failureKind }) => failureKind !== 'timeout')
    const current = waking
    const isAwake = await current
    if (isAwake && waking === current) waking = undefined
    return !isAwake
  }
  const pace = createPace(timeoutMs)
  const sendOnce = (delivery: TestDelivery, agent?: KeptConnection): Promise<Answer> =>
    pace.inPlace(delivery, async () =>
      (await isHanging()) ? { ...SILENCE, event: delivery.event } : deliver(delivery, agent),
    )
  const deliver = async (delivery: TestDelivery, agent?: KeptConnection): Promise<Answer> => {
    signal?.throwIfAborted()
    // Once several have hung, the others need not hang for as long as a receiver may take at most.
    const limitMs = unanswered < SILENT_DELIVERIES ? timeoutMs : Math.max(SHORT_TIMEOUT_MS, Math.ceil(longestMs) * 3)
    const { event, toParts } = delivery
    const isNew = event?.type === make.plainType && !acknowledged.has(event.id)
    const endMeasure = isNew && toParts === undefined ? pace.measure() : () => {}
    const answer = await sendDelivery(target, delivery, { timeoutMs: Math.min(limitMs, timeoutMs), cut, agent })
    endMeasure(isSuccess(answer))
    if (answer.status === undefined) cut.throwIfAborted()
    else {
      answers++
      longestMs = Math.max(longestMs, answer.ms)
    }
    isUnreachable = answer.isUnreachable
    if (answer.failureKind === 'timeout') unanswered++
    unansweredInARow = answer.failureKind === 'timeout' ? unansweredInARow + 1 : 0
    shutting.note(delivery, answer)
    if (isNew && isSuccess(answer) && !acknowledged.has(event.id))
      acknowledged.set(event.id, { event, at: performance.now(), doneAt: undefined })
    return { ...answer, event }
  }
  return {
    acknowledged,
    sendOnce,
    countRoom: pace.countRoom,
    ...shutting,
    /** Returns true if nothing listens at the target, and nothing has during this run. */
    isLost: () => answers === 0 && isUnreachable,
    isGone: () => answers > 0 && isUnreachable,
    isSilent: () => answers > 0 && unansweredInARow >= SILENT_DELIVERIES,
    /** Returns true if the receiver answered none of the last deliveries, nor one more that is plain. Nothing else is sent to it then. */
    isHanging,
    /** Asks a receiver that hangs once more, before the next delivery. */
    wake() {
      waking = undefined
    },
  }
}

async function sendInTurn(
  deliveries: readonly TestDelivery[],
  send: (delivery: TestDelivery) => Promise<Answer>,
): Promise<readonly Answer[]> {
  const answers: Answer[] = []
  for (const delivery of deliveries) {
    const first = await send(delivery)
    // The receiver may close an idle connection, and clients then open another.
    const answer = first.failureKind === 'reset' && answers.length > 0 ? await send(delivery) : first
    answers.push(answer)
    // The rest cannot be sent over this connection.
    if (!(await answer.isWhole)) return answers
  }
  return answers
}
