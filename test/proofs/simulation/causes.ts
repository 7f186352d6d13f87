import type { Disturbance, Grant, HandlerRun, LifeFacts } from './facts.ts'
import type { History } from './history.ts'
import type { EventPlan, SettingsPlan } from './plan.ts'
import { bearableMs, RECOVERY_MS, STALLS_APART_MS } from './tolerance.ts'

/** Tolerance of timers. */
const SLACK_MS = 1_000
/** Time from a handler's abort until the receiver abandons it. */
const GIVE_UP_MS = 5_000
/** Time for which the receiver repeats a call that the store did not take. */
const OFFERED_MS = 70_000

/** Returns why a handler may run again, or a lease may run out: the fourth guarantee, as a function of what happened. */
export class Causes {
  readonly #history: History
  readonly #settings: SettingsPlan

  constructor(history: History, settings: SettingsPlan) {
    this.#history = history
    this.#settings = settings
  }

  /** Returns why the store may not have known the result of a run when the next one began; undefined if nothing explains it. */
  whyUnknown(run: HandlerRun, next: HandlerRun): string | undefined {
    return this.whyOverlapping(run, next, Math.min(next.beganAt, (run.completedAt ?? run.beganAt) + OFFERED_MS))
  }

  /** Returns why a run may be under way when the next one begins, or at an earlier time. */
  whyOverlapping(run: HandlerRun, next: HandlerRun, until = next.beganAt): string | undefined {
    return (
      this.whyLost(run.life, run.grant, run.beganAt, until) ??
      this.#whyForgotten(run.event, run.beganAt, next.beganAt) ??
      this.#whyBegunLate(next)
    )
  }

  /** Returns why a run may have begun under a claim that was already lost, without the process knowing it. */
  #whyBegunLate({ life, grant, beganAt }: HandlerRun): string | undefined {
    return grant && this.whyLost(life, grant, grant.askedAt, beganAt)
  }

  /** Returns why a process may have lost a claim between two times. */
  whyLost({ process, death }: LifeFacts, grant: Grant | undefined, since: number, until: number): string | undefined {
    const hasDied = death !== undefined && death.at >= since && death.at <= until
    if (hasDied && !death.isOrderly) return 'the process ended'
    if (grant !== undefined && this.#isAbortIgnored(grant, until)) return 'a handler ignored its abort'
    const forgotten = grant && this.#whyForgotten(grant.event, grant.askedAt, until)
    if (forgotten !== undefined) return forgotten
    return this.#isCutOff(process, grant?.askedAt ?? since, until) ? 'an outage or a stall was long' : undefined
  }

  #whyForgotten(event: EventPlan, since: number, until: number): string | undefined {
    return this.#history.isLost(event, since, until) ? 'the engine lost what it knew of the event' : undefined
  }

  #isAbortIgnored(grant: Grant, until: number): boolean {
    if (grant.abandonedAt !== undefined && grant.abandonedAt <= until) return true
    const timeoutAt = (grant.answeredAt ?? grant.grantedAt) + this.#settings.handlerTimeoutMs
    const abortAt = Math.min(timeoutAt, ...grant.life.workAborts.filter((at) => at >= grant.askedAt))
    const givenUpAt = abortAt + GIVE_UP_MS - SLACK_MS
    return this.#history.runs.some((run) => run.grant === grant && Math.min(run.endedAt ?? until, until) >= givenUpAt)
  }

  /** Returns whether the process could not reach the engine for so long that it may have lost a lease. */
  #isCutOff(process: number, since: number, until: number): boolean {
    const { leaseMs } = this.#settings
    const own = this.#history.disturbances
      .filter((each) => (each.process === undefined || each.process === process) && each.from <= until)
      .toSorted((one, other) => one.from - other.from)
    const isLonger = (limitMs: number) => (each: Disturbance) => each.to >= since && each.to - each.from > limitMs
    const stalls = merge(
      own.filter(({ isStall }) => isStall),
      STALLS_APART_MS,
    )
    if (stalls.some(isLonger(bearableMs(leaseMs)))) return true
    const outages = merge(own, RECOVERY_MS).filter(({ isStall }) => !isStall)
    return outages.some(isLonger(bearableMs(leaseMs)))
  }
}

/** Joins disturbances with less than `gap` between them: too little time to recover. */
function merge(disturbances: readonly Disturbance[], gap: number): readonly Disturbance[] {
  const merged: Disturbance[] = []
  for (const each of disturbances) {
    const last = merged.at(-1)
    if (last === undefined || each.from > last.to + gap) merged.push(each)
    else merged[merged.length - 1] = { ...last, to: Math.max(last.to, each.to), isStall: last.isStall && each.isStall }
  }
  return merged
}
