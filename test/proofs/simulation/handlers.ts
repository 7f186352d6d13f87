import { type AnyEvent, DeadLetter, type HandlerContext, RetryLater } from 'postern'
import { checkEvent } from './check-event.ts'
import type { HandlerRun } from './facts.ts'
import { judgeContext } from './judge-context.ts'
import { judgeBegin } from './judge-order.ts'
import type { Life } from './life.ts'
import { oddValue } from './odd-values.ts'
import { type Behaviour, type HandlerPlan, nameOf } from './plan.ts'
import { Chance } from './random.ts'
import type { Tx } from './transactions.ts'
import type { World } from './world.ts'

/** Tolerance of timers. */
const SLACK_MS = 50

type Context = HandlerContext & { readonly transaction?: (work: (tx: Tx) => unknown) => Promise<unknown> }

/** Makes the function that the app registers for a handler of the plan: it behaves as planned for this run. */
export function toHandler(world: World, life: Life, plan: HandlerPlan) {
  const name = nameOf(plan)
  return (event: AnyEvent, context: Context): unknown => {
    if (!life.step()) return hang()
    const known = checkEvent(world, life, name, event)
    if (known === undefined) return undefined
    const run = world.history.begin(known, name, life, world.ledger.lastGrant(known, life))
    judgeBegin(world, run, plan)
    judgeContext(world, known, name)
    const trouble = known.troubles.find((each) => each.handler === name && each.run === run.number)
    const behaviour = trouble?.behaviour ?? usualBehaviour(run)
    world.say(
      life.name,
      () => `begins ${name} for event ${known.number}, run ${run.number}: ${showBehaviour(behaviour)}`,
    )
    if (trouble?.mutates === true) mutate(event)
    return new Performance(world, life, run, context, plan.isTransactional).perform(behaviour)
  }
}

/** Returns the behaviour of a run that the plan does not mention: the handler succeeds, immediately or soon. */
function usualBehaviour({ event, handler, number }: HandlerRun): Behaviour {
  const chance = new Chance(event.seed, handler, number)
  return { kind: 'succeeds', ms: chance.happens(0.4) ? 0 : chance.int(1, 300) }
}

function mutate(event: AnyEvent): void {
  const { record } = event.data
  if (typeof record === 'object' && record !== null) Object.assign(record, { note: 'changed by a handler' })
}

/** One run of a handler, as planned. */
class Performance {
  readonly #world: World
  readonly #life: Life
  readonly #run: HandlerRun
  readonly #context: Context
  readonly #isTransactional: boolean

  constructor(world: World, life: Life, run: HandlerRun, context: Context, isTransactional: boolean) {
    this.#world = world
    this.#life = life
    this.#run = run
    this.#context = context
    this.#isTransactional = isTransactional
  }

  perform(behaviour: Behaviour): unknown {
    switch (behaviour.kind) {
      case 'succeeds':
        if (behaviour.ms === 0 && !this.#isTransactional) return this.#succeed()
        return this.#isWorkInside
          ? this.#commitAfter(behaviour.ms)
          : this.#after(behaviour.ms, () => this.#succeedOrCommit())
      case 'fails':
        if (behaviour.ms === 0) return this.#fail(behaviour.thrown)
        return this.#after(behaviour.ms, () => this.#fail(behaviour.thrown))
      case 'obeys the abort':
        return this.#afterAbort(0, () => this.#fail(0))
      case 'succeeds after the abort':
        return this.#afterAbort(behaviour.ms, () => this.#succeedOrCommit())
      case 'fails after the abort':
        return this.#afterAbort(behaviour.ms, () => this.#fail(1))
      case 'throws DeadLetter':
        return this.#after(behaviour.ms, () => this.#failWith('bury', new DeadLetter('of no use')))
      case 'throws RetryLater': {
        const { ms, delayMs } = behaviour
        return this.#after(ms, () => this.#failWith({ afterMs: delayMs }, new RetryLater(delayMs)))
      }
      case 'kills its process':
        return this.#after(behaviour.ms, () => {
          this.#life.crash()
          return hang()
        })
      case 'hangs':
      case 'refuses':
        return hang()
      default:
        return this.#isTransactional ? this.#transact(behaviour) : this.#after(10, () => this.#succeed())
    }
  }

  #transact(behaviour: Behaviour): unknown {
    switch (behaviour.kind) {
      case 'commits, then fails':
        return this.#commit()
          .then(() => this.#life.sleep(behaviour.ms))
          .then(() => this.#fail(0))
      case 'commits, then hangs':
        return this.#commit().then(hang)
      case 'does not await its transaction':
        this.#run.isLeftToTransaction = true
        void this.#transaction(behaviour.rollsBack ? () => this.#fail(0) : undefined)
        return behaviour.ms === 0 ? undefined : this.#after(behaviour.ms, () => undefined)
      case 'rolls back':
        return this.#commit(() => this.#fail(0))
      case 'works long in its transaction':
        return this.#commitAfter(behaviour.ms)
      case 'begins two transactions':
        return this.#commit()
          .then(() => this.#commit())
          .catch(() => this.#end())
      default:
        return hang()
    }
  }

  async #after(ms: number, end: () => unknown): Promise<unknown> {
    await this.#life.sleep(ms)
    return end()
  }

  async #afterAbort(ms: number, end: () => unknown): Promise<unknown> {
    const { signal } = this.#context
    this.#run.waitsForAbort = true
    const { event, handler } = this.#run
    if (!signal.aborted)
      await new Promise<void>((resolve) => {
        const onAbort = () => {
          judgeContext(this.#world, event, `the abort listener of ${handler}`)
          resolve()
        }
        signal.addEventListener('abort', onAbort, { once: true })
      })
    this.#run.waitsForAbort = false
    judgeAbort(this.#world, this.#life, this.#run, signal.reason)
    this.#world.say(this.#life.name, () => `aborts ${this.#what}`)
    if (ms > 0) await this.#life.sleep(ms)
    return end()
  }

  /** Some handlers work before their transaction, and some in it. */
  get #isWorkInside(): boolean {
    return this.#isTransactional && new Chance(this.#run.event.seed, this.#run.handler, 'inside').happens(0.5)
  }

  #commitAfter(ms: number): Promise<unknown> {
    return this.#commit(() => this.#life.sleep(ms)).then(() => this.#end())
  }

  async #succeedOrCommit(): Promise<unknown> {
    if (!this.#isTransactional) return this.#succeed()
    await this.#commit()
    return this.#end()
  }

  #commit(work?: () => unknown): Promise<unknown> {
    const transaction = this.#transaction(work)
    transaction.catch((error: unknown) => {
      const { code } = Object(error) as { readonly code?: unknown } // whatever it is
      this.#run.isUnsure = this.#run.completedAt !== undefined && code !== 'transaction_misused'
      this.#end()
    })
    return transaction
  }

  /** The transaction of the handler. On an engine in the process its work must not wait. */
  #transaction(work: () => unknown = () => undefined): Promise<unknown> {
    const { transaction } = this.#context
    if (transaction === undefined) return Promise.reject(new Error('the store has no transactions'))
    const isLocal = this.#world.plan.engine === 'shared file'
    return transaction((tx) => {
      if (isLocal) return this.#workImmediately(tx, work)
      return Promise.resolve(tx.write()).then(work)
    })
  }

  /** The waits that the plan has for this work are left out. */
  #workImmediately(tx: Tx, work: () => unknown): void {
    tx.write()
    work()
  }

  #succeed(): void {
    if (!this.#life.step()) return
    this.#world.history.addEffect(this.#run)
    if (!this.#life.step()) return
    this.#world.history.complete(this.#run)
    this.#end()
  }

  #fail(thrown: number): never {
    this.#end()
    throw oddValue(thrown)
  }

  #failWith(wish: HandlerRun['wish'], thrown: Error): never {
    this.#run.wish = wish
    this.#end()
    throw thrown
  }

  #end(): void {
    if (!this.#life.step()) return
    this.#world.history.end(this.#run)
    const { completedAt } = this.#run
    this.#world.say(this.#life.name, () => `ends ${this.#what}: ${completedAt === undefined ? 'not done' : 'done'}`)
  }

  get #what(): string {
    return `${this.#run.handler} for event ${this.#run.event.number}, run ${this.#run.number}`
  }
}

/** Returns a promise that never settles. */
export function hang(): Promise<never> {
  return new Promise(() => {})
}

function showBehaviour(behaviour: Behaviour): string {
  return 'ms' in behaviour ? `${behaviour.kind} (${behaviour.ms} ms)` : behaviour.kind
}

/** Checks that a handler was aborted at its time limit, or because another process took its event: not at the deadline. */
function judgeAbort(world: World, life: Life, run: HandlerRun, reason: unknown): void {
  const { plan, findings, now } = world
  const { code } = Object(reason) as { readonly code?: unknown } // whatever it is
  const { event, handler, grant, beganAt, stalledMs } = run
  const what = `${handler} of event ${event.number} in ${life.name}`
  if (code === 'worker_closed') return judgeWorkerClosed(world, life, what)
  if (code !== 'handler_timeout' && code !== 'lease_lost')
    findings.add('aborted at the wrong time', `${what} was aborted with the code ${String(code)}`)
  const { handlerTimeoutMs } = plan.settings
  const ranMs = now - (grant?.answeredAt ?? beganAt)
  if (code === 'handler_timeout' && ranMs < handlerTimeoutMs - SLACK_MS)
    findings.add('aborted at the wrong time', `${what} was aborted after ${ranMs} ms of ${handlerTimeoutMs}`)
  if (now - beganAt - (life.stalledMs - stalledMs) > handlerTimeoutMs + SLACK_MS)
    findings.add('aborted at the wrong time', `${what} was aborted only after ${now - beganAt} ms`)
}

/** Checks that a worker's runs are aborted when its time to close is over, and not before. */
function judgeWorkerClosed({ findings, now }: World, { workAborts }: Life, what: string): void {
  if (!workAborts.some((at) => now >= at - SLACK_MS))
    findings.add('aborted at the wrong time', `${what} was aborted as if its worker were closed`)
}
