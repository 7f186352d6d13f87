import { startApp } from './app.ts'
import { afterAbortMs, type Closed, judgeClosedWorker } from './inbox/judge-inbox.ts'
import { Life } from './life.ts'
import type { FaultPlan, HandlerPlan } from './plan.ts'
import type { Chance } from './random.ts'
import type { World } from './world.ts'

type CloseFault = Extract<FaultPlan, { readonly kind: 'close' }>

/** Tolerance of `close()` beyond its own limit. */
const CLOSE_SLACK_MS = 50
/** A process that its own handler has killed is restarted after this time. */
const CRASHED_MS = 2_000

/** The processes of the app: started, killed, closed and redeployed. */
export class Cluster {
  readonly lives: Life[] = []
  readonly #world: World
  readonly #current: (Life | undefined)[]
  readonly #started: number[]
  #handlers: readonly HandlerPlan[]

  constructor(world: World) {
    this.#world = world
    this.#handlers = world.plan.handlers
    this.#current = world.plan.clockSkewsMs.map(() => undefined)
    this.#started = world.plan.clockSkewsMs.map(() => 0)
    for (const process of world.plan.clockSkewsMs.keys()) this.start(process)
  }

  /** Returns the life of a running process. */
  at(process: number): Life | undefined {
    return this.#current[process]
  }

  /** Returns a process that accepts connections. */
  pick(chance: Chance): Life | undefined {
    const listening = this.#current.filter((life) => life?.isListening === true)
    return listening[chance.int(0, listening.length - 1)]
  }

  start(process: number): void {
    if (this.#current[process]?.isAlive === true) return
    const number = (this.#started[process] ?? 0) + 1
    this.#started[process] = number
    const life = new Life(this.#world, process, number, this.#handlers, this.#world.plan.clockSkewsMs[process] ?? 0)
    this.#current[process] = life
    this.lives.push(life)
    life.crash = () => this.kill(process, CRASHED_MS)
    startApp(this.#world, life)
  }

  /** Ends a process as `kill -9` does, and starts it again later. */
  kill(process: number, downMs: number): void {
    const life = this.#current[process]
    if (life?.isAlive !== true) return
    this.#world.meet('kill')
    this.#world.say(life.name, () => 'is killed')
    life.die(false)
    this.#world.scheduler.after(downMs, () => this.start(process))
  }

  /** Closes the receiver of a process and ends it then, as `await receiver.close(); process.exit(0)` does. */
  close({ process, timeoutMs, listensMs, downMs }: Omit<CloseFault, 'kind' | 'at'>): void {
    const life = this.#current[process]
    if (life?.isAlive !== true || life.isClosing) return
    life.isClosing = true
    this.#world.scheduler.after(listensMs, () => {
      life.isListening = false
    })
    life.onDeath(() => this.#world.scheduler.after(downMs, () => this.start(process)))
    life.post(0, () => void this.#closeAndExit(life, timeoutMs))
  }

  /** Deploys other code: restarts the processes one after the other. */
  deploy(handlers: readonly HandlerPlan[], isGraceful: boolean): void {
    this.#handlers = handlers
    for (const process of this.#current.keys())
      this.#world.scheduler.after(process * 4_000, () => {
        if (isGraceful) this.close({ process, timeoutMs: 10_000, listensMs: 500, downMs: 1_000 })
        else this.kill(process, 1_000)
      })
  }

  async #closeAndExit(life: Life, timeoutMs: number): Promise<void> {
    const [beganAt, stalledMs] = [this.#world.now, life.stalledMs]
    if (!life.step()) return
    this.#world.say(life.name, () => `closes, for ${timeoutMs} ms at most`)
    const { unfinished } = (await life.receiver?.close({ timeoutMs })) ?? { unfinished: 0 }
    if (!life.step()) return
    this.#judgeClose(life, { timeoutMs, unfinished, tookMs: this.#world.now - beganAt }, life.stalledMs - stalledMs)
    this.#world.say(life.name, () => `is closed, ${unfinished} unfinished, and exits`)
    life.die(unfinished === 0)
  }

  /** Judges the state that `close()` leaves behind, at the moment when the process exits. */
  #judgeClose(life: Life, closed: Closed, stalledMs: number): void {
    const { timeoutMs, unfinished, tookMs } = closed
    const { findings, history } = this.#world
    const abortMs = this.#world.inbox === undefined ? 0 : afterAbortMs(timeoutMs)
    if (tookMs - stalledMs > timeoutMs + abortMs + CLOSE_SLACK_MS)
      findings.add('close late', `close() of ${life.name} took ${tookMs} ms`)
    if (unfinished > 0 && tookMs < timeoutMs - CLOSE_SLACK_MS)
      findings.add('unfinished', `close() of ${life.name} left ${unfinished} events unfinished after ${tookMs} ms`)
    if (this.#world.inbox !== undefined) judgeClosedWorker(this.#world, this.#world.inbox, life, closed)
    const unanswered = history.deliveries.filter((each) => each.life === life && each.answer === undefined)
    // Runs that are still active at timeoutMs continue while the process lives.
    if (tookMs >= timeoutMs) return
    if (unanswered.length > 0)
      findings.add('close lost answers', `${life.name} was closed with ${unanswered.length} deliveries unanswered`)
    if (unanswered.length > 0) return
    // A call that is under way has its own timer, which ends with it.
    if (life.timersLeft > life.callsUnderWay)
      findings.add('timer left', `${life.name} has ${life.timersLeft} timers left after its close()`)
  }
}
