import type { Outcome } from 'postern'
import type { DeliveryFacts } from './facts.ts'
import { judgeAccepted } from './inbox/judge-inbox.ts'
import { isFinished } from './judge-order.ts'
import type { Life } from './life.ts'
import { type EventPlan, handlersOf, nameOf, SCHEMA } from './plan.ts'
import { RARE_STATES } from './rare-states.ts'
import type { World } from './world.ts'

/** Tolerance of timers, which count whole milliseconds. */
const SLACK_MS = 5

/** The age of a delivery when it was received, and the time for which the event loop was stalled since then. */
interface Delays {
  readonly ageMs: number
  readonly stalledMs: number
}

/** Judges one answer at the moment at which it is sent. */
export function judgeAnswer(world: World, life: Life, delivery: DeliveryFacts, delays: Delays): void {
  const { answer, what, isIntruder } = delivery
  if (answer === undefined) return
  const { outcome } = answer
  world.say(life.name, () => `answers ${outcome.status} ${describe(outcome)} to ${toName(delivery)}`)
  judgeTime(world, life, delivery, delays)
  visit(world, outcome)
  if (isIntruder) {
    const isRefused = outcome.status >= 400 && outcome.status < 500
    if (!isRefused && !isUnavailable(outcome))
      world.findings.add('accepted though not signed', `${life.name} answered ${outcome.status} to ${toName(delivery)}`)
    return
  }
  const event = what as EventPlan // deliveries that are not an intruder's are an event's
  if (outcome.outcome === 'rejected' && !isRefusedBySchema(event, outcome))
    world.findings.add(
      'refused though signed',
      `${life.name} answered ${outcome.status} ${outcome.code} to ${toName(delivery)}`,
    )
  if (outcome.status === 200 && outcome.outcome !== 'ignored' && world.inbox !== undefined)
    judgeAccepted(world, world.inbox, life, event, outcome)
  else if (outcome.status === 200) judgeAcknowledgement(world, life, event, outcome)
}

/** Checks a 2xx: every handler of this process has succeeded, or the event is done, or there is no handler. */
function judgeAcknowledgement(
  { findings, history, ledger, now }: World,
  life: Life,
  event: EventPlan,
  outcome: Outcome,
): void {
  const wanted = handlersOf(life.handlers, event.type).map(nameOf)
  const missing = wanted.filter((name) => !isFinished(history, life, event, name))
  if ((outcome.outcome === 'ignored') !== (wanted.length === 0))
    findings.add(
      'acknowledged early',
      `${life.name} answered "${outcome.outcome}" to event ${event.number}: handlers [${wanted}]`,
    )
  // What the engine lost since it answered had been done.
  if (missing.length === 0 || ledger.isDone(event) || history.isLost(event, 0, now)) return
  findings.add(
    'acknowledged early',
    `${life.name} answered 200 "${outcome.outcome}" to event ${event.number}, but ${missing.join(', ')} had not succeeded`,
  )
}

function judgeTime({ plan, findings }: World, life: Life, delivery: DeliveryFacts, { ageMs, stalledMs }: Delays): void {
  if (delivery.answer === undefined) return
  const tookMs = delivery.answer.at - delivery.receivedAt + ageMs - stalledMs
  if (tookMs > Math.max(plan.settings.deadlineMs, ageMs) + SLACK_MS)
    findings.add('answered late', `${life.name} answered ${toName(delivery)} after ${tookMs} ms`)
}

function visit(world: World, outcome: Outcome): void {
  const name = 'code' in outcome ? outcome.code : outcome.outcome
  const state = RARE_STATES.direct.find((each) => each === `answered ${name}`)
  if (state !== undefined) world.visit(state)
}

function isRefusedBySchema(event: EventPlan, outcome: Outcome): boolean {
  const canRefuse = event.troubles.some(({ handler, behaviour }) => handler === SCHEMA && behaviour.kind === 'refuses')
  return canRefuse && 'code' in outcome && outcome.code === 'invalid_record'
}

/** Returns whether the receiver could not serve any delivery. */
function isUnavailable(outcome: Outcome): boolean {
  return outcome.outcome === 'closing' || (outcome.outcome === 'failed' && outcome.code === 'secrets_unavailable')
}

function describe(outcome: Outcome): string {
  const code = 'code' in outcome ? ` ${outcome.code}` : ''
  return `${outcome.outcome}${code}${outcome.joined === true ? ' (joined)' : ''}`
}

/** Returns the name of a delivery for a trace. */
export function toName({ what, isIntruder }: DeliveryFacts): string {
  return isIntruder ? `intruder ${what.number}` : `event ${what.number}`
}
