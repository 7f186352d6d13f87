import type { Claim } from 'postern'
import type { Grant, LifeFacts } from './facts.ts'
import { isFinished } from './judge-order.ts'
import { type EventPlan, handlersOf, nameOf } from './plan.ts'
import type { World } from './world.ts'

/** A call to a store, when it was carried out. */
export interface Call {
  readonly life: LifeFacts
  readonly key: string
  readonly token: string
  readonly askedAt: number
}

interface KeyState {
  readonly event: EventPlan
  holder: Grant | undefined
  /** The token that claimed last, whether or not it still holds the key. */
  lastClaim: string | undefined
  doneAt: number | undefined
  /** The first completion, and whose it was. */
  done: { readonly at: number; readonly life: LifeFacts } | undefined
  marks: Map<string, number>
}

interface Change {
  readonly at: number
  readonly key: string
  readonly event: EventPlan
  readonly undo: () => void
}

/** A lease that ended without being settled. */
export interface Lapse {
  readonly grant: Grant
  readonly at: number
}

/**
 * Tracks which token holds which key and which events are done, from the calls that were carried out, and checks the store's answers
 * against it.
 */
export class Ledger {
  readonly grants: Grant[] = []
  readonly lapses: Lapse[] = []
  readonly #world: World
  readonly #keys = new Map<string, KeyState>()
  readonly #byToken = new Map<string, Grant>()
  /** The undoing of each change, the oldest first. */
  readonly #changes: Change[] = []

  constructor(world: World) {
    this.#world = world
  }

  onClaim(call: Call, leaseMs: number, answer: Claim): Grant | undefined {
    const state = this.#stateOf(call)
    if (state === undefined) return undefined
    const holder = this.#holderOf(state)
    const isDone = this.#isDone(state)
    if (answer.state === 'busy') {
      if (holder === undefined) this.#breach(call, 'claim answered "busy" although nobody holds the key')
      return undefined
    }
    if (answer.state === 'done') {
      if (!isDone && state.doneAt === undefined)
        this.#breach(call, 'claim answered "done" although nobody completed it')
      return undefined
    }
    if (holder !== undefined && holder.token !== answer.token)
      this.#breach(call, `claim was granted although ${holder.life.name} holds the key by ${holder.token}`)
    if (isDone && !this.#world.isForgetful) this.#breach(call, 'claim was granted although the event is done')
    this.#checkMarks(call, state, answer.marks)
    if (answer.marks.length > 0) this.#world.visit('claimed with marks')
    if (holder === undefined && this.lapses.some(({ grant }) => grant.token === state.lastClaim))
      this.#world.visit('claimed after a lease had ended')
    return this.#grant(call, state, answer, leaseMs)
  }

  onRenew(call: Call, leaseMs: number, marks: readonly string[], isHeld: boolean): void {
    const state = this.#stateOf(call)
    if (state === undefined) return
    this.#checkWork(call, state, marks)
    const isFenced = this.#isFenced(call, state) || this.#isDone(state)
    if (isHeld === isFenced && !this.#world.isForgetful)
      this.#breach(call, `renew answered ${isHeld} although ${this.#whoHolds(call, state)}`)
    const grant = this.#byToken.get(toTokenKey(call))
    if (!isHeld) this.#world.visit('renewal refused')
    if (!isHeld || grant === undefined) return
    this.#note(call, state)
    state.holder = grant
    grant.endsAt = this.#world.now + leaseMs
    this.#keep(state, marks)
  }

  onComplete(call: Call, isDone: boolean): void {
    const state = this.#stateOf(call)
    if (state === undefined) return
    this.#checkAnswer(call, state, 'complete', isDone)
    if (!isDone) return this.#world.visit('completion refused')
    if (this.#isDone(state)) this.#world.visit('completed twice')
    const { event, life } = { event: state.event, life: call.life }
    const missing = handlersOf(life.handlers, event.type)
      .map(nameOf)
      .filter((name) => !isFinished(this.#world.history, life, event, name))
    if (missing.length > 0)
      this.#world.findings.add(
        'done early',
        `${life.name} completed event ${event.number}, but ${missing.join(', ')} had not succeeded`,
      )
    this.#note(call, state)
    state.doneAt = this.#world.now
    state.done ??= { at: state.doneAt, life }
    this.#settle(call, state)
  }

  onRelease(call: Call, marks: readonly string[], isReleased: boolean): void {
    const state = this.#stateOf(call)
    if (state === undefined) return
    this.#checkWork(call, state, marks)
    this.#checkAnswer(call, state, 'release', isReleased)
    if (!isReleased) return this.#world.visit('release refused')
    this.#note(call, state)
    this.#settle(call, state)
    this.#keep(state, marks)
  }

  /** Called before a process completes, releases or commits under a claim. */
  onSettling(call: Call): void {
    const grant = this.#byToken.get(toTokenKey(call))
    if (grant?.abandonedAt === undefined) return
    this.#world.findings.add(
      'settled after it was given up',
      `${call.life.name} settled event ${grant.event.number} although it had given its handlers up`,
    )
  }

  onCommit(call: Call, mark: string): void {
    const state = this.#stateOf(call)
    if (state === undefined) return
    if (state.lastClaim !== call.token || this.#isDone(state) || this.#isKept(state, mark))
      this.#breach(
        call,
        `commit of ${mark} was carried out although ${state.lastClaim} claimed last: ${this.#whoHolds(call, state)}`,
      )
    this.#note(call, state)
    this.#keep(state, [mark])
  }

  /** Returns whether an event is done in the engine. */
  isDone(event: EventPlan): boolean {
    return [...this.#keys.values()].some((state) => state.event === event && this.#isDone(state))
  }

  /** Returns the handlers of an event whose marks the engine has, and had at a time. */
  marksOf(event: EventPlan, since: number): readonly string[] {
    const state = this.#find(event)
    if (state === undefined || this.#world.isForgetful) return []
    const isOlder = (name: string) => (state.marks.get(name) ?? since) < since
    return [...state.marks.keys()].filter((name) => isOlder(name) && this.#isKept(state, name))
  }

  /** Returns when an event was done first, and by which process. */
  completionOf(event: EventPlan): KeyState['done'] {
    return this.#find(event)?.done
  }

  /** Returns the last claim that a process knows of. */
  lastGrant(event: EventPlan, life: LifeFacts): Grant | undefined {
    return this.grants.findLast(
      (grant) => grant.event === event && grant.life === life && grant.answeredAt !== undefined,
    )
  }

  /** Returns the claim of a token. */
  grantOf(key: string, token: string): Grant | undefined {
    return this.#byToken.get(`${key} ${token}`)
  }

  /** Forgets everything, as a memory store does with its process. */
  forgetAll(): void {
    this.#keys.clear()
    this.#byToken.clear()
  }

  /** Loses all changes after a time, as the engine does. Returns their events. */
  rewind(since: number): ReadonlySet<EventPlan> {
    this.close()
    const first = this.#changes.findIndex(({ at }) => at > since)
    const lost = first === -1 ? [] : this.#changes.splice(first)
    for (const { key, undo } of lost.toReversed()) {
      this.#noteLoss(this.#keys.get(key))
      undo()
    }
    return new Set(lost.map(({ event }) => event))
  }

  /** Drops keys, as the engine does. Returns their events. */
  evict(isMeant: (key: string) => boolean): ReadonlySet<EventPlan> {
    this.close()
    const dropped = [...this.#keys].filter(([key]) => isMeant(key))
    for (const [key, state] of dropped) {
      this.#noteLoss(state)
      this.#note({ key }, state)
      this.#keys.delete(key)
    }
    return new Set(dropped.map(([, { event }]) => event))
  }

  /** Records every lease that has ended by now. */
  close(): void {
    for (const state of this.#keys.values()) this.#holderOf(state)
  }

  #find(event: EventPlan): KeyState | undefined {
    return [...this.#keys.values()].find((state) => state.event === event)
  }

  #stateOf({ key, life }: Call): KeyState | undefined {
    const known = this.#keys.get(key)
    if (known !== undefined) return known
    const { history, findings } = this.#world
    const event = history.findByKey(key)
    if (
      event === undefined ||
      (this.#world.inbox === undefined && handlersOf(life.handlers, event.type).length === 0)
    ) {
      findings.add(
        'trace of a refused delivery',
        `${life.name} asked the store for ${key}, which no event with a handler has`,
      )
      return undefined
    }
    const state: KeyState = {
      event,
      holder: undefined,
      lastClaim: undefined,
      doneAt: undefined,
      done: undefined,
      marks: new Map(),
    }
    this.#keys.set(key, state)
    return state
  }

  #grant(call: Call, state: KeyState, answer: Extract<Claim, { state: 'claimed' }>, leaseMs: number): Grant {
    this.#note(call, state)
    const now = this.#world.now
    const tokenKey = `${call.key} ${answer.token}`
    const known = this.#byToken.get(tokenKey)
    const grant: Grant = known ?? {
      token: answer.token,
      key: call.key,
      event: state.event,
      life: call.life,
      askedAt: call.askedAt,
      grantedAt: now,
      marks: new Set(answer.marks),
      answeredAt: undefined,
      isEcho: false,
      endsAt: now + leaseMs,
      settledAt: undefined,
      abandonedAt: undefined,
    }
    grant.endsAt = now + leaseMs
    if (known === undefined) this.grants.push(grant)
    this.#byToken.set(tokenKey, grant)
    state.holder = grant
    state.lastClaim = grant.token
    return grant
  }

  /** Keeps the state before a change, in case the engine loses it. */
  #note({ key }: Pick<Call, 'key'>, state: KeyState): void {
    const { event, holder } = state
    const before = { ...state, marks: new Map(state.marks) }
    const endsAt = holder?.endsAt
    const undo = () => {
      this.#keys.set(key, before)
      if (holder !== undefined && endsAt !== undefined) holder.endsAt = endsAt
    }
    this.#changes.push({ at: this.#world.now, key, event, undo })
  }

  #noteLoss(state: KeyState | undefined): void {
    if (state?.holder !== undefined) this.#world.visit('engine lost a holder')
    if (state?.doneAt !== undefined) this.#world.visit('engine lost a completion')
    if ((state?.marks.size ?? 0) > 0) this.#world.visit('engine lost a mark')
  }

  #settle(call: Call, state: KeyState): void {
    const grant = this.#byToken.get(toTokenKey(call))
    if (grant !== undefined) grant.settledAt ??= this.#world.now
    state.holder = undefined
  }

  #holderOf(state: KeyState): Grant | undefined {
    const { holder } = state
    if (holder === undefined || holder.endsAt > this.#world.now) return holder
    this.lapses.push({ grant: holder, at: holder.endsAt })
    state.holder = undefined
    return undefined
  }

  #isFenced(call: Call, state: KeyState): boolean {
    const holder = this.#holderOf(state)
    return holder !== undefined && holder.token !== call.token
  }

  #isDone({ doneAt }: KeyState): boolean {
    return doneAt !== undefined && doneAt + this.#world.plan.settings.retentionMs > this.#world.now
  }

  #isKept({ marks }: KeyState, mark: string): boolean {
    return (marks.get(mark) ?? Number.NEGATIVE_INFINITY) + this.#world.plan.settings.retentionMs > this.#world.now
  }

  #whoHolds(call: Call, state: KeyState): string {
    if (this.#isDone(state)) return 'the event is done'
    const holder = this.#holderOf(state)
    if (holder === undefined) return 'nobody holds the key'
    return holder.token === call.token ? 'this token holds the key' : `${holder.life.name} holds the key`
  }

  #checkAnswer(call: Call, state: KeyState, method: string, answer: boolean): void {
    if (answer === this.#isFenced(call, state))
      this.#breach(call, `${method} answered ${answer} although ${this.#whoHolds(call, state)}`)
  }

  /** Checks the marks of a claim against those that were kept. */
  #checkMarks(call: Call, state: KeyState, answered: readonly string[]): void {
    const { marks, doneAt } = state
    const { isForgetful } = this.#world
    const stray = answered.find((name) => !marks.has(name))
    if (stray !== undefined) this.#breach(call, `the claim carries the mark "${stray}", which nobody made`)
    if (isForgetful || doneAt !== undefined) return
    for (const name of marks.keys())
      if (this.#isKept(state, name) && !answered.includes(name)) this.#breach(call, `the mark "${name}" is lost`)
  }

  /** Checks the marks of a call against the acts of the handlers. */
  #checkWork({ life }: Call, { event }: KeyState, marks: readonly string[]): void {
    for (const name of marks)
      if (!isFinished(this.#world.history, life, event, name))
        this.#world.findings.add(
          'mark without work',
          `${life.name} told the store that "${name}" finished event ${event.number}, but it had not`,
        )
  }

  #keep(state: KeyState, marks: readonly string[]): void {
    for (const name of marks) state.marks.set(name, this.#world.now)
  }

  #breach({ life, token, key }: Call, what: string): void {
    this.#world.findings.add('store broke its contract', `${what} (${life.name}, token ${token}, ${key})`)
  }
}

function toTokenKey({ key, token }: Call): string {
  return `${key} ${token}`
}
