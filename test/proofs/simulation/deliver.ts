import type { Outcome } from 'postern'
import type { DeliveryFacts } from './facts.ts'
import { judgeAnswer } from './judge-answer.ts'
import { contextOfDelivery, judgeContext } from './judge-context.ts'
import type { Life } from './life.ts'
import { describeThrown } from './odd-values.ts'
import type { EventPlan, IntruderPlan } from './plan.ts'
import type { Chance } from './random.ts'
import type { World } from './world.ts'

/** The longest time of a delivery on its way to a process, or of an answer back. */
const LONGEST_WAY_MS = 40

/** One HTTP request, as it leaves the sender. */
export interface Request {
  readonly what: EventPlan | IntruderPlan
  readonly isIntruder: boolean
  readonly body: string
  readonly signature: string | undefined
  readonly chance: Chance
}

/** Sends a delivery to a process. Calls back with the status of its answer; undefined if the process ended before. */
export function deliver(
  world: World,
  life: Life,
  request: Request,
  onAnswer: (status: number | undefined) => void,
): void {
  const { chance, body, signature } = request
  const [requestMs, answerMs] = [chance.int(1, LONGEST_WAY_MS), chance.int(1, LONGEST_WAY_MS)]
  // The body took a while to arrive: the deadline counts from its first byte.
  const ageMs = chance.happens(0.3) ? chance.int(1, 1_500) : 0
  const isServerless = chance.happens(0.2)
  let isOver = false
  const end = (status: number | undefined) => {
    if (isOver) return
    isOver = true
    world.scheduler.after(answerMs, () => onAnswer(status))
  }
  life.onDeath(() => end(undefined))
  life.post(requestMs, () => {
    // The deadline counts from the first byte, by a wall clock that may jump before the last byte is there.
    const [receivedAt, { jumps }] = [life.clock.now(), life]
    if (ageMs > 0) life.awaitBody()
    life.post(ageMs, () => receive(receivedAt, life.jumps === jumps))
  })
  const receive = (receivedAt: number, isClockRight: boolean) => {
    const { stalledMs } = life
    if (!life.step()) return
    life.received++
    const facts: DeliveryFacts = { ...request, life, receivedAt: world.now, answer: undefined }
    world.history.deliveries.push(facts)
    const { what } = request
    const waitUntil = (work: Promise<unknown>) => {
      judgeContext(
        world,
        world.plan.events.find((event) => event === what),
        'waitUntil',
      )
      life.keepAwakeFor(work)
    }
    const receiving = contextOfDelivery.run(what, () =>
      life.receiver?.receive({
        body: Buffer.from(body),
        signature,
        ...(ageMs > 0 && { receivedAt }),
        ...(isServerless && { waitUntil }),
      }),
    )
    const onOutcome = (outcome: Outcome) => {
      if (!life.step()) return
      facts.answer = { at: world.now, outcome }
      judgeAnswer(world, life, facts, { ageMs: isClockRight ? ageMs : 0, stalledMs: life.stalledMs - stalledMs })
      end(outcome.status)
    }
    receiving?.then(onOutcome, (error: unknown) => {
      world.findings.add('threw', `receive() of ${life.name} rejected with ${describeThrown(error)}`)
    })
  }
}
