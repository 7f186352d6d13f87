import { AsyncResource } from 'node:async_hooks'
import type { Clock, Receiver, ReceiverWorker } from 'postern'
import type { Death, LifeFacts } from './facts.ts'
import type { Trial } from './inbox/judge-settlement.ts'
import { describeThrown } from './odd-values.ts'
import type { HandlerPlan } from './plan.ts'
import type { Step } from './scheduler.ts'
import type { World } from './world.ts'

/** The time at which wall clocks start. */
const EPOCH = Date.UTC(2025, 0, 1)
/** Urgency of timers: after a stall they run before input, if the plan says so. */
const TIMER = 0
export const LONGEST_TIMER_MS = 2_147_483_647

/** Longer than the library ever waits without a step: it calls the store far more often. */
const IDLE_MS = 75_000

interface Slot {
  step: Step | undefined
}

/** A timer of the library. Like Node's it can be told not to keep the process alive, so that many callbacks may share it. */
class Timer {
  keepsAlive = true
  slot: Slot | undefined

  ref(): void {
    this.keepsAlive = true
  }

  unref(): void {
    this.keepsAlive = false
  }
}

interface Trigger {
  left: number
  readonly action: () => void
}

/** One process from its start to its end: its clock and its event loop. Nothing of it runs after its death. */
export class Life implements LifeFacts {
  readonly name: string
  readonly process: number
  readonly handlers: readonly HandlerPlan[]
  readonly clock: Clock
  /** The clock of a store's driver, whose timers do not keep the process alive and may be left. */
  readonly driverClock: Clock
  death: Death | undefined
  receiver: Receiver | undefined
  worker: ReceiverWorker | undefined
  readonly workAborts: number[] = []
  isWorkerClosing = false
  /** True between two calls of `workOnce`. */
  isFrozen = false
  /** The numbers of dead letters that its worker has made, and of reports of them to its owner. */
  deadLetters = 0
  deadLettersTold = 0
  /** The tries of its worker that are under way. */
  readonly trials: Trial[] = []
  /** Ends it like a handler that takes the whole process with it. Set by the cluster. */
  crash: () => void = () => {}
  /** True if the load balancer may pick it. */
  isListening = true
  isClosing = false
  /** Time of the last step. */
  busyAt: number
  /** The numbers of deliveries that it received, of events that its worker tried, and of outcomes reported to its owner. */
  received = 0
  outcomesTold = 0
  /** Work for which its host is kept awake. */
  keptAwake = 0
  /** The number of jumps of its wall clock. */
  jumps = 0
  /** Calls to the engine without an answer so far. */
  callsUnderWay = 0
  readonly #world: World
  readonly #startedAt: number
  readonly #timers = new Set<Timer>()
  readonly #triggers: Trigger[] = []
  readonly #onDeath: (() => void)[] = []
  #skewMs: number
  #nextJump: (() => void) | undefined
  #stalledFrom = 0
  #stalledUntil = 0
  /** The stalled time before the last stall. */
  #stalledBefore = 0

  constructor(world: World, process: number, number: number, handlers: readonly HandlerPlan[], skewMs: number) {
    this.#world = world
    this.name = `p${process + 1}.${number}`
    this.process = process
    this.handlers = handlers
    this.#startedAt = world.now
    this.busyAt = world.now
    this.#skewMs = skewMs
    this.clock = {
      now: () => EPOCH + world.now + this.#skewMs,
      monotonic: () => world.now - this.#startedAt + 1_234.567,
      setTimeout: (callback, ms) => this.#setTimer(callback, ms),
      clearTimeout: (timer) => this.#clearTimer(timer),
    }
    this.driverClock = {
      ...this.clock,
      setTimeout: (callback, ms) => this.#plan(world.now + ms, AsyncResource.bind(callback), TIMER),
      clearTimeout: (slot) => {
        const { step } = slot as Slot // what setTimeout above gave
        if (step !== undefined) step.action = undefined
      },
    }
  }

  get isAlive(): boolean {
    return this.death === undefined
  }

  get stalledMs(): number {
    return this.#stalledBefore + Math.min(this.#world.now, this.#stalledUntil) - this.#stalledFrom
  }

  /** Timers of the library that are set, have not fired, and keep the process alive. */
  get timersLeft(): number {
    return [...this.#timers].filter(({ keepsAlive }) => keepsAlive).length
  }

  /** Plans input to the process. It is dropped if the process is dead by then. */
  post(ms: number, action: () => void): void {
    this.#plan(this.#world.now + ms, action, this.#world.plan.settings.timersFirst ? TIMER + 1 : TIMER)
  }

  /** Waits in the app's code. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#plan(this.#world.now + ms, resolve, TIMER))
  }

  /** Takes one step that the world can see. Returns false if the process is dead, and the step has no effect. */
  step(): boolean {
    if (!this.isAlive) return false
    this.busyAt = this.#world.now
    for (const trigger of this.#triggers) if (--trigger.left === 0) trigger.action()
    return this.isAlive
  }

  /** Runs an action at the nth step from now on. Returns a function that cancels it. */
  atStep(count: number, action: () => void): () => void {
    const trigger: Trigger = { left: count, action }
    this.#triggers.push(trigger)
    return () => {
      trigger.left = 0
    }
  }

  stall(ms: number): void {
    const { now } = this.#world
    if (!this.isAlive || now < this.#stalledUntil) return
    this.#stalledBefore = this.stalledMs
    this.#stalledFrom = now
    this.#stalledUntil = now + ms
    this.#world.history.disturb(this.process, ms, true)
    this.#world.say(this.name, () => `its event loop stands still for ${ms} ms`)
  }

  /** Lets the wall clock jump while the next slow body comes in. */
  jumpClockAtNextBody(byMs: number, onJump: () => void): void {
    this.#nextJump = () => {
      this.#nextJump = undefined
      onJump()
      this.jumpClock(byMs)
    }
  }

  jumpClock(byMs: number): void {
    this.#skewMs += byMs
    this.jumps++
    this.#world.say(this.name, () => `its wall clock jumps by ${byMs} ms`)
  }

  /** Called while a body is on its way: a planned clock jump happens now. */
  awaitBody(): void {
    this.#nextJump?.()
  }

  /** Keeps a serverless host awake until the work ends. */
  keepAwakeFor(work: Promise<unknown>): void {
    this.keptAwake++
    const end = () => {
      this.keptAwake--
    }
    work.then(end, end)
  }

  /** Calls back when the process dies. */
  onDeath(callback: () => void): void {
    this.#onDeath.push(callback)
  }

  die(isOrderly: boolean): void {
    if (!this.isAlive) return
    this.death = { at: this.#world.now, isOrderly }
    this.isListening = false
    for (const timer of this.#timers) this.#clearTimer(timer)
    for (const callback of this.#onDeath) callback()
  }

  /** Plans a step of this process: it waits while the event loop stands still, and is never taken after the death. */
  #plan(at: number, action: () => void, urgency: number): Slot {
    const { scheduler, findings } = this.#world
    const slot: Slot = { step: undefined }
    const act = () => {
      if (!this.isAlive) return
      if (scheduler.now < this.#stalledUntil) {
        slot.step = scheduler.at(this.#stalledUntil, act, urgency)
        return
      }
      slot.step = undefined
      try {
        action()
      } catch (error) {
        findings.add('threw', `a callback in ${this.name} threw ${describeThrown(error)}`)
      }
    }
    slot.step = scheduler.at(at, act, urgency)
    return slot
  }

  /** Sets a timer as Node does: whole milliseconds, at least one. */
  #setTimer(callback: () => void, ms: number): Timer {
    const { now, findings } = this.#world
    const timer = new Timer()
    if (!this.isAlive) return timer
    if (!(ms >= 0 && ms <= LONGEST_TIMER_MS)) findings.add('threw', `${this.name} set a timer of ${ms} ms`)
    const fire = () => {
      this.#timers.delete(timer)
      if (timer.keepsAlive && this.#world.now - this.busyAt > IDLE_MS)
        findings.add(
          'timer left',
          `a timer of ${ms} ms went off in ${this.name}, where nothing had happened for ${IDLE_MS} ms`,
        )
      callback()
    }
    // Like Node's, a timer fires in the async context in which it was set.
    timer.slot = this.#plan(now + Math.max(1, Math.trunc(ms)), AsyncResource.bind(fire), TIMER)
    this.#timers.add(timer)
    return timer
  }

  #clearTimer(timer: unknown): void {
    const { slot } = timer as Timer // what setTimer gave
    if (slot?.step !== undefined) slot.step.action = undefined
    this.#timers.delete(timer as Timer) // as above
  }
}
