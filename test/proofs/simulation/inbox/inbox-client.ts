import type { Inbox, InboxEntry, InboxItem } from 'postern'
import type {
  InboxLoop,
  InboxTable,
  InboxWorkOptions,
  Settlement,
  Taken,
  TakenItem,
  TakeRequest,
} from '../../../../src/engine.ts'
import { hang } from '../handlers.ts'
import type { Life } from '../life.ts'
import { Connection } from '../network.ts'
import type { Method } from '../plan.ts'
import type { World } from '../world.ts'
import type { InboxHouse } from './inbox-house.ts'
import { judgeBeginning, judgeSettlement } from './judge-settlement.ts'
import { WorkerClock } from './worker-clock.ts'

/** A call of the inbox without an answer is given up after this time. */
const CALL_LIMIT_MS = 3_000
/** The interval at which items are released that a worker was given without knowing of it. */
const GIVE_BACK_MS = 1_000

const NOTHING: Taken = { items: [] }
const NOT_BEGUN: Settlement = { next: 'wait', afterMs: 0, isFailure: false }

type Ask = <T>(method: Method, key: string, carryOut: () => T) => Promise<T>

/** The path of an inbox's calls to an engine behind a network. */
class InboxConnection extends Connection {
  readonly askInbox: Ask = (method, key, carryOut) =>
    new Promise((resolve, reject) => {
      const { driverClock } = this.life
      const timer = driverClock.setTimeout(() => reject(new Error('no answer from the inbox')), CALL_LIMIT_MS)
      const end = () => driverClock.clearTimeout(timer)
      this.ask({ method, key, details: '' }, carryOut).then(resolve, reject).finally(end)
    })
}

/** The path to an engine in the process itself. The process may die before or after each call, and the file may be locked. */
function askFile(world: World, life: Life): Ask {
  return async (method, key, carryOut) => {
    const { host, now } = world
    if (!life.step()) return hang()
    if (now < Math.max(host.frozenUntil, host.downUntil, host.refusesUntil)) throw new Error('the file is locked')
    const answer = carryOut()
    world.say(life.name, () => `asks its inbox: ${method} ${world.nameKey(key)}: ${JSON.stringify(answer)}`)
    return life.step() ? answer : hang()
  }
}

/** The inbox in the view of one process: the receiver gets it. */
export class InboxClient implements Pick<Inbox, 'put' | 'work'> {
  readonly #world: World
  readonly #house: InboxHouse
  readonly #life: Life
  readonly #ask: Ask
  readonly #wakers = new Set<() => void>()
  #workers = 0

  constructor(world: World, house: InboxHouse, life: Life) {
    this.#world = world
    this.#house = house
    this.#life = life
    this.#ask = world.plan.engine === 'shared file' ? askFile(world, life) : new InboxConnection(world, life).askInbox
  }

  async put(item: InboxItem): Promise<void> {
    const isNew = await this.#ask('put', item.key, () => this.#house.put(this.#life, item))
    if (isNew) for (const wake of this.#wakers) wake()
  }

  work(run: (item: TakenItem) => Promise<Settlement>, options: InboxWorkOptions): InboxLoop {
    const worker = `${this.#life.name}-w${++this.#workers}`
    const clock = new WorkerClock(this.#house, this.#life, worker, options.leaseMs)
    const watched = (item: TakenItem) => this.#run(item, run)
    const loop = this.#world.subject.pollInbox(this.#toTable(), worker, watched, { ...options, clock })
    this.#life.isWorkerClosing = false
    let closings = 0
    const close = async (timeoutMs: number) => {
      closings++
      this.#life.isWorkerClosing = true
      const { workAborts } = this.#life
      const abortsAt = this.#world.now + timeoutMs
      workAborts.push(abortsAt)
      clock.close()
      this.#house.ledger.onClose(worker)
      const left = await loop.close(timeoutMs)
      if (this.#world.now < abortsAt) workAborts.splice(workAborts.indexOf(abortsAt), 1)
      closings--
      if (left === 0 && closings === 0 && clock.timersLeft > 0 && this.#life.isAlive)
        this.#world.findings.add('timer left', `${worker} is closed and has ${clock.timersLeft} timers left`)
      return left
    }
    return { close }
  }

  async #run(item: TakenItem, run: (item: TakenItem) => Promise<Settlement>): Promise<Settlement> {
    if (!this.#life.step()) return hang()
    const trial = judgeBeginning(this.#world, this.#house, this.#life, item)
    const settlement = await run(item)
    if (!this.#life.step()) return hang()
    if (trial !== undefined) judgeSettlement(this.#world, this.#house, trial, settlement)
    return settlement
  }

  #toTable(): InboxTable {
    const [house, life] = [this.#house, this.#life]
    return {
      take: (request) => this.#take(request),
      renew: (worker, leaseMs) => this.#ask('keep', worker, () => house.renew(worker, leaseMs)),
      settle: async (item, worker, settlement) => {
        const isHeld = await this.#settle(item, worker, settlement)
        if (!life.isAlive) return hang()
        if (isHeld && settlement.next === 'bury') life.deadLetters++
        return isHeld
      },
      onPut: (callback) => {
        this.#wakers.add(callback)
        return () => this.#wakers.delete(callback)
      },
    }
  }

  /** A take that was given up is not carried out later, and its items are released: no worker knows of them. */
  async #take(request: TakeRequest): Promise<Taken> {
    if (this.#life.isFrozen)
      this.#world.findings.add('kept by a closed worker', `${request.worker} takes items after workOnce has ended`)
    let isGivenUp = false
    let brought: Taken | undefined
    try {
      const taken = await this.#ask('take', 'items', () => {
        if (isGivenUp) return NOTHING
        brought ??= this.#house.take(this.#life, request)
        return { ...brought, toJSON: () => brought?.items.map(showItem) }
      })
      for (const taking of this.#house.ledger.takings)
        if (taken.items.includes(taking.item)) taking.answeredAt ??= this.#world.now
      return taken
    } catch (error) {
      isGivenUp = true
      for (const item of brought?.items ?? []) void this.#giveBack(item, request.worker)
      throw error
    }
  }

  async #giveBack(item: InboxEntry, worker: string): Promise<void> {
    while (this.#life.isAlive)
      try {
        await this.#settle(item, worker, NOT_BEGUN)
        return
      } catch {
        await this.#life.sleep(GIVE_BACK_MS)
      }
  }

  #settle(item: InboxEntry, worker: string, settlement: Settlement): Promise<boolean> {
    const { next, tried } = { tried: undefined, ...settlement }
    this.#world.say(this.#life.name, () => `settles ${this.#world.nameKey(item.key)}: ${next} ${tried?.code ?? ''}`)
    return this.#ask('settle', item.key, () => this.#house.settle(item, worker, settlement))
  }
}

function showItem({ id, accountKey, failures, deaths }: InboxEntry): string {
  return `${id} of ${accountKey}, ${failures} failures, ${deaths} deaths`
}
