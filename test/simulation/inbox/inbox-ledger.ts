import type { InboxEntry, InboxItem, Settlement, Taken, TakeRequest } from 'postern'
import type { Findings } from '../findings.ts'
import type { History } from '../history.ts'
import type { Life } from '../life.ts'
import { toBody } from '../messages.ts'
import type { EventPlan } from '../plan.ts'

/** One item in the hands of a worker, from its take to its settlement or the end of its lease. */
export interface Taking {
  readonly event: EventPlan
  readonly item: InboxEntry
  readonly life: Life
  readonly worker: string
  readonly at: number
  /** Its last worker died: nothing else may run in its process. */
  readonly isAlone: boolean
  /** The time from which it could have been taken. */
  readonly readySince: number
  /** The time at which the worker learned of it. */
  answeredAt: number | undefined
  endsAt: number
  settledAt: number | undefined
  lapsedAt: number | undefined
}

/** The known state of an event in the inbox. */
interface Place {
  readonly event: EventPlan
  state: 'waiting' | 'running' | 'dead' | 'gone'
  isSuspect: boolean
  dueAt: number
  failures: number
  /** Leases that ended while the item ran alone. */
  deaths: number
  marks: readonly string[]
  taking: Taking | undefined
}

interface LedgerOptions {
  readonly history: History
  readonly findings: Findings
  readonly now: () => number
}

/** Tracks the contents of the inbox, from the calls that were carried out, and checks the engine's answers against it. */
export class InboxLedger {
  readonly takings: Taking[] = []
  readonly accepted = new Set<EventPlan>()
  readonly #options: LedgerOptions
  readonly #places = new Map<string, Place>()

  constructor(options: LedgerOptions) {
    this.#options = options
  }

  onPut(life: Life, item: InboxItem): void {
    const { history, findings } = this.#options
    const event = history.findByKey(item.key)
    const { accountKey, id, type, bytes } = item
    const isSame = event?.account === accountKey && event.id === id && event.type === type
    if (event === undefined || !isSame || Buffer.from(bytes).toString() !== toBody(event)) {
      findings.add('trace of a refused delivery', `${life.name} put ${item.key} into the inbox, which nobody sent so`)
      return
    }
    const place = this.#places.get(item.key)
    if (place === undefined || place.state === 'gone') this.#places.set(item.key, this.#newPlace(event))
    else if (place.state === 'dead') this.#revive(place)
  }

  onTake(life: Life, { worker, limit, leaseMs, isIdle }: TakeRequest, { items }: Taken): void {
    const now = this.#options.now()
    this.#endLeases(worker)
    const suspects = [...this.#places.values()].filter((place) => place.isSuspect && isDue(place, now))
    if (items.length > limit) this.#breach(`take gave ${items.length} items instead of ${limit}`)
    if (suspects.length > 0 && items.length > (isIdle ? 1 : 0))
      this.#breach(`take gave ${items.length} items although one is due that has to run alone`)
    for (const item of items) {
      const place = this.#places.get(item.key)
      if (place === undefined || !isDue(place, now)) {
        this.#breach(`take gave ${item.key}, which is not due`)
        continue
      }
      this.#compare(place, item)
      const { event, dueAt, isSuspect } = place
      const times = { at: now, endsAt: now + leaseMs, readySince: dueAt }
      const open = { answeredAt: undefined, settledAt: undefined, lapsedAt: undefined }
      const taking: Taking = { event, item, life, worker, isAlone: isSuspect, ...times, ...open }
      this.takings.push(taking)
      Object.assign(place, { state: 'running', isSuspect: false, taking })
    }
  }

  onRenew(worker: string, leaseMs: number): void {
    for (const { state, taking } of this.#places.values())
      if (state === 'running' && taking?.worker === worker) taking.endsAt = this.#options.now() + leaseMs
  }

  onSettle({ key }: InboxEntry, worker: string, settlement: Settlement, isHeld: boolean): void {
    const place = this.#places.get(key)
    const now = this.#options.now()
    const taking = place?.state === 'running' && place.taking?.worker === worker ? place.taking : undefined
    if (isHeld && taking === undefined)
      this.#breach(`settle of ${key} was carried out for ${worker}, which does not hold it`)
    if (!isHeld || place === undefined || taking === undefined) return
    taking.settledAt = now
    place.taking = undefined
    if (settlement.next === 'remove') place.state = 'gone'
    else if (settlement.next === 'bury') Object.assign(place, { state: 'dead', marks: settlement.marks })
    else {
      const isUnproven = settlement.isUnproven === true || settlement.tried === undefined
      place.state = 'waiting'
      place.dueAt = now + Math.ceil(settlement.afterMs)
      place.isSuspect = isUnproven && taking.isAlone
      place.failures += settlement.isFailure ? 1 : 0
      if (!isUnproven) place.deaths = 0
    }
  }

  onReplay(key: string, isReplayed: boolean): void {
    const place = this.#places.get(key)
    if (isReplayed !== (place?.state === 'dead')) this.#breach(`replay of ${key} answered ${isReplayed}`)
    if (isReplayed && place !== undefined) this.#revive(place)
  }

  onDrop(key: string, isDropped: boolean): void {
    const place = this.#places.get(key)
    const isThere = place?.state === 'waiting' || place?.state === 'dead' || this.#hasLapsed(place)
    if (isDropped && !isThere) this.#breach(`drop of ${key} answered true`)
    if (isDropped && place !== undefined) place.state = 'gone'
  }

  /** Returns undefined for an event that was never in the inbox. */
  stateOf(event: EventPlan): Place['state'] | undefined {
    return [...this.#places.values()].find((place) => place.event === event)?.state
  }

  keysOfTheDead(): readonly string[] {
    return [...this.#places].filter(([, { state }]) => state === 'dead').map(([key]) => key)
  }

  keyOf(event: EventPlan): string | undefined {
    return [...this.#places].find(([, place]) => place.event === event)?.[0]
  }

  holdsAnything(worker: string): boolean {
    return [...this.#places.values()].some(({ state, taking }) => state === 'running' && taking?.worker === worker)
  }

  /** Returns the items that the workers of a process hold and know of. */
  heldBy(life: Life): readonly Taking[] {
    return [...this.#places.values()].flatMap(({ state, taking }) =>
      state === 'running' && taking?.life === life && taking.answeredAt !== undefined ? [taking] : [],
    )
  }

  /** Returns when this worker's next useful look can be, in the current state. */
  nextFor(worker: string): number {
    const now = this.#options.now()
    const isBusy = this.holdsAnything(worker)
    const isHeldUp = isBusy && [...this.#places.values()].some((place) => place.isSuspect && isDue(place, now))
    if (isHeldUp) return Number.POSITIVE_INFINITY
    return Math.min(
      ...[...this.#places.values()].map(({ state, dueAt, isSuspect, taking }) => {
        if (state === 'waiting') return isSuspect && isBusy ? Number.POSITIVE_INFINITY : dueAt
        const isOther = state === 'running' && taking !== undefined && taking.worker !== worker
        return isOther ? taking.endsAt + 1 : Number.POSITIVE_INFINITY
      }),
    )
  }

  #newPlace(event: EventPlan): Place {
    const now = this.#options.now()
    const fresh = { isSuspect: false, dueAt: now, failures: 0, deaths: 0, marks: [], taking: undefined }
    return { event, state: 'waiting', ...fresh }
  }

  #revive(place: Place): void {
    const now = this.#options.now()
    Object.assign(place, { state: 'waiting', isSuspect: false, dueAt: now, failures: 0, deaths: 0 })
  }

  #endLeases(worker: string): void {
    const now = this.#options.now()
    for (const place of this.#places.values()) {
      const { taking } = place
      if (!this.#hasLapsed(place) || taking === undefined || taking.worker === worker) continue
      taking.lapsedAt = now
      place.deaths += taking.isAlone ? 1 : 0
      Object.assign(place, { state: 'waiting', isSuspect: true, taking: undefined })
    }
  }

  #hasLapsed(place: Place | undefined): boolean {
    return place?.state === 'running' && place.taking !== undefined && place.taking.endsAt < this.#options.now()
  }

  #compare({ event, failures, deaths, marks }: Place, item: InboxEntry): void {
    const [known, got] = [
      { failures, deaths, marks },
      { failures: item.failures, deaths: item.deaths, marks: item.marks },
    ].map((each) => JSON.stringify(each))
    if (known !== got) this.#breach(`take gave event ${event.number} with ${got} instead of ${known}`)
    if (Buffer.from(item.bytes).toString() !== toBody(event))
      this.#breach(`take gave other bytes of event ${event.number}`)
  }

  #breach(what: string): void {
    this.#options.findings.add('inbox broke its contract', what)
  }
}

function isDue({ state, dueAt }: Place, now: number): boolean {
  return state === 'waiting' && dueAt <= now
}
