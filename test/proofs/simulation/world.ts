import { EngineHost } from './engine.ts'
import { Findings } from './findings.ts'
import { History } from './history.ts'
import { InboxHouse } from './inbox/inbox-house.ts'
import { Ledger } from './ledger.ts'
import type { FaultKind, Plan } from './plan.ts'
import { Chance } from './random.ts'
import type { RareState } from './rare-states.ts'
import { Scheduler } from './scheduler.ts'
import { SecretRing } from './secret-ring.ts'
import type { Subject } from './subject.ts'
import { Trace } from './trace.ts'
import { Weather } from './weather.ts'

/** Far more steps than any run takes. */
export const MOST_STEPS = 60_000

/** The state that all parts of a run share. */
export class World {
  readonly plan: Plan
  readonly subject: Subject
  readonly scheduler = new Scheduler()
  readonly trace: Trace
  readonly findings: Findings
  readonly history: History
  readonly ledger = new Ledger(this)
  readonly host: EngineHost
  readonly inbox: InboxHouse | undefined
  readonly weather: Weather
  readonly secrets: SecretRing
  readonly faultsMet: Partial<Record<FaultKind, number>> = {}
  readonly visits: Partial<Record<RareState, number>> = {}
  /** True if the store releases claims whose answer was lost. The library's stores do; the receiver must cope with others. */
  readonly givesBackLostClaims: boolean
  /** Set by a memory store that dropped events for lack of room. */
  isForgetful = false

  constructor(plan: Plan, subject: Subject, isTraced: boolean) {
    const now = () => this.scheduler.now
    this.plan = plan
    this.subject = subject
    this.givesBackLostClaims = new Chance(plan.seed, 'gives back lost claims').number() < 0.7
    this.trace = new Trace(isTraced, now)
    this.findings = new Findings((toText) => this.trace.say('judge', toText))
    this.history = new History(plan.events, now)
    this.host = new EngineHost(new subject.Engine(now, plan.settings.retentionMs))
    this.inbox = plan.inbox && new InboxHouse(this, plan.inbox)
    this.weather = new Weather(this.history, now)
    this.secrets = new SecretRing(plan, now)
  }

  get now(): number {
    return this.scheduler.now
  }

  /** Returns the words for a store's key in a trace. */
  nameKey(key: string): string {
    const event = this.trace.isOn ? this.history.findByKey(key) : undefined
    return event === undefined ? key : `event ${event.number}`
  }

  /** Replaces `Math.random`, by which the library varies its delays. */
  random(): number {
    return new Chance(this.plan.seed, 'random', this.now, this.scheduler.taken).number()
  }

  say(who: string, toText: () => string): void {
    this.trace.say(who, toText)
  }

  meet(kind: FaultKind): void {
    this.faultsMet[kind] = (this.faultsMet[kind] ?? 0) + 1
  }

  visit(state: RareState): void {
    this.visits[state] = (this.visits[state] ?? 0) + 1
  }
}
