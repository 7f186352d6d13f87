import type { InboxEntry, InboxItem } from 'postern'
import type { Settlement, Taken, TakeRequest } from '../../../../src/engine.ts'
import type { Life } from '../life.ts'
import { toBody } from '../messages.ts'
import type { EventPlan } from '../plan.ts'
import type { World } from '../world.ts'

/** One item in the hands of a worker, from its take to its settlement or the end of its lease. */
export interface Taking {
  readonly event: EventPlan
  readonly item: InboxEntry
  readonly life: Life
  readonly worker: string
  readonly at: number
  /** Two workers died at it: nothing else may run in its process at first. */
  readonly isSuspect: boolean
  /** True while nothing else may run in its process. */
  isAlone: boolean
  joinedAt: number | undefined
  /** The time at which its worker began to close. */
  closingAt: number | undefined
  /** The time from which it could have been taken. */
  readonly readySince: number
  /** The time at which the worker learned of it. */
  answeredAt: number | undefined
  endsAt: number
  settledAt: number | undefined
  lapsedAt: number | undefined
  /** True if its worker was only delayed when another one took it. */
  isForgiven: boolean
}

/** The known state of an event in the inbox. */
interface Place {
  readonly event: EventPlan
  state: 'waiting' | 'running' | 'dead' | 'gone'
  dueAt: number
  /** Leases that ended since its handlers last ran to their end. Two make it a suspect. */
  losses: number
  /** The last one of these, unless it was settled since. */
  lost: Taking | undefined
  /** The last one of these: how long a suspect runs alone depends on it. */
  lastLost: Taking | undefined
  failures: number
  /** Leases that ended while the item ran alone. */
  deaths: number
  marks: readonly string[]
  taking: Taking | undefined
}

/** The longest time for which a suspect runs alone. */
export const LONGEST_ALONE_MS = 10_000

/** Tracks the contents of the inbox, from the calls that were carried out, and checks the engine's answers against it. */
export class InboxLedger {
  readonly takings: Taking[] = []
  readonly accepted = new Set<EventPlan>()
  readonly #world: World
  readonly #places = new Map<string, Place>()
  /** The worker that makes room for the next suspect, since a time. */
  #awaited: { readonly worker: string; readonly at: number; readonly next: Place | undefined } | undefined

  constructor(world: World) {
    this.#world = world
  }

  onPut(life: Life, item: InboxItem): void {
    const { history, findings } = this.#world
    const event = history.findByKey(item.key)
    const { accountKey, id, type, bytes } = item
    const isSame = event?.account === accountKey && event.id === id && event.type === type
    if (event === undefined || !isSame || Buffer.from(bytes).toString() !== toBody(event)) {
      findings.add('trace of a refused delivery', `${life.name} put ${item.key} into the inbox, which nobody sent so`)
      return
    }
    const place = this.#places.get(item.key)
    if (place?.state === 'running') this.#world.visit('put while running')
    if (place?.state === 'dead') this.#world.visit('put while dead')
    if (place === undefined || place.state === 'gone') this.#places.set(item.key, this.#newPlace(event))
    else if (place.state === 'dead') this.#replay(place)
  }

  onTake(life: Life, request: TakeRequest, taken: Taken): void {
    const now = this.#world.now
    const { worker, limit, leaseMs } = request
    this.#revive(worker, now + leaseMs)
    if (request.suspects === 'join') this.#join(worker)
    this.#endLeases(worker)
    if (taken.items.length > limit) this.#breach(`take gave ${taken.items.length} items instead of ${limit}`)
    this.#checkSuspects(request, taken)
    for (const item of taken.items) {
      const place = this.#places.get(item.key)
      if (place === undefined || !isDue(place, now)) {
        this.#breach(`take gave ${item.key}, which is not due`)
        continue
      }
      this.#compare(place, item)
      const isSuspect = place.losses > 1
      if (isSuspect) this.#world.visit('suspect taken')
      if (isSuspect !== (taken.ranMs !== undefined))
        this.#breach(`take gave ${item.key} after ${place.losses} losses as ${isSuspect ? 'any other' : 'a suspect'}`)
      const times = { at: now, endsAt: now + leaseMs, readySince: Math.max(place.dueAt, place.lost?.lapsedAt ?? 0) }
      const open = { answeredAt: undefined, settledAt: undefined, lapsedAt: undefined, joinedAt: undefined }
      const taking: Taking = {
        event: place.event,
        item,
        life,
        worker,
        isSuspect,
        isAlone: isSuspect,
        isForgiven: false,
        closingAt: undefined,
        ...times,
        ...open,
      }
      this.takings.push(taking)
      Object.assign(place, { state: 'running', taking })
    }
  }

  onRenew(worker: string, leaseMs: number): void {
    const endsAt = this.#world.now + leaseMs
    this.#revive(worker, endsAt)
    for (const { state, taking } of this.#places.values())
      if (state === 'running' && taking?.worker === worker) taking.endsAt = endsAt
  }

  onSettle({ key }: InboxEntry, worker: string, settlement: Settlement, isHeld: boolean): void {
    const place = this.#places.get(key)
    const now = this.#world.now
    if (place?.lost?.worker === worker) this.#reviveOne(place, now)
    const taking = place?.state === 'running' && place.taking?.worker === worker ? place.taking : undefined
    if (isHeld && taking === undefined)
      this.#breach(`settle of ${key} was carried out for ${worker}, which does not hold it`)
    if (!isHeld) this.#world.visit('settlement refused')
    if (!isHeld || place === undefined || taking === undefined) return
    if (settlement.next === 'bury') this.#world.visit('dead letter made')
    taking.settledAt = now
    place.taking = undefined
    place.lost = undefined
    if (settlement.next === 'remove') place.state = 'gone'
    else if (settlement.next === 'bury') Object.assign(place, { state: 'dead', marks: settlement.marks })
    else {
      if (settlement.isUnproven === true) this.#world.visit('run without a proof')
      const isUnproven = settlement.isUnproven === true || settlement.tried === undefined
      place.state = 'waiting'
      place.dueAt = now + Math.ceil(settlement.afterMs)
      place.failures += settlement.isFailure ? 1 : 0
      if (!isUnproven) Object.assign(place, { losses: 0, deaths: 0 })
    }
  }

  onReplay(key: string, isReplayed: boolean): void {
    const place = this.#places.get(key)
    const isLater = place?.state === 'waiting' && place.dueAt > this.#world.now
    if (isReplayed !== (place?.state === 'dead' || isLater)) this.#breach(`replay of ${key} answered ${isReplayed}`)
    if (isReplayed && place !== undefined) {
      this.#world.visit(isLater ? 'waiting item replayed' : 'dead letter replayed')
      if (isLater) place.dueAt = this.#world.now
      else this.#replay(place)
    }
  }

  onDrop(key: string, isDropped: boolean): void {
    const place = this.#places.get(key)
    const isThere = place?.state === 'waiting' || place?.state === 'dead' || this.#hasLapsed(place)
    if (isDropped && !isThere) this.#breach(`drop of ${key} answered true`)
    if (isDropped && this.#hasLapsed(place)) this.#world.visit('dropped after its lease had ended')
    if (isDropped && place !== undefined) place.state = 'gone'
    this.#awaited = undefined
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

  onClose(worker: string): void {
    for (const taking of this.takings) if (taking.worker === worker) taking.closingAt ??= this.#world.now
  }

  /** Returns whether nothing else may run beside an item: another worker has not taken it. */
  isAlone(taking: Taking): boolean {
    const isIts = (place: Place) => place.taking === taking || (place.lost === taking && place.state === 'waiting')
    return taking.isAlone && [...this.#places.values()].some(isIts)
  }

  /** Returns the items that the workers of a process hold and know of. */
  heldBy(life: Life): readonly Taking[] {
    return [...this.#places.values()].flatMap(({ state, taking }) =>
      state === 'running' && taking?.life === life && taking.answeredAt !== undefined ? [taking] : [],
    )
  }

  /** Returns when this worker's next useful look can be, in the current state. */
  nextFor(worker: string): number {
    return Math.min(
      ...[...this.#places.values()].map(({ state, dueAt, taking }) => {
        if (state === 'waiting') return dueAt
        if (state !== 'running' || taking === undefined) return Number.POSITIVE_INFINITY
        if (taking.worker !== worker) return taking.endsAt + 1
        return taking.isAlone ? taking.at : Number.POSITIVE_INFINITY
      }),
    )
  }

  #newPlace(event: EventPlan): Place {
    const now = this.#world.now
    const known = { dueAt: now, losses: 0, failures: 0, deaths: 0, marks: [] }
    const none = { lost: undefined, lastLost: undefined, taking: undefined }
    return { event, state: 'waiting', ...known, ...none }
  }

  #replay(place: Place): void {
    const now = this.#world.now
    Object.assign(place, { state: 'waiting', dueAt: now, losses: 0, failures: 0, deaths: 0 })
  }

  #endLeases(worker: string): void {
    const now = this.#world.now
    for (const place of this.#places.values()) {
      const { taking } = place
      if (!this.#hasLapsed(place) || taking === undefined || taking.worker === worker) continue
      taking.lapsedAt = now
      if (taking.isAlone) this.#world.visit('died alone')
      place.deaths += taking.isAlone ? 1 : 0
      place.losses++
      Object.assign(place, { state: 'waiting', lost: taking, lastLost: taking, taking: undefined })
    }
  }

  /** The worker is alive: it still holds what no other has taken, and has caused no loss. */
  #revive(worker: string, endsAt: number): void {
    for (const place of this.#places.values()) if (place.lost?.worker === worker) this.#reviveOne(place, endsAt)
  }

  #reviveOne(place: Place, endsAt: number): void {
    const { lost, state } = place
    if (lost === undefined) return
    place.losses--
    place.deaths -= lost.isAlone ? 1 : 0
    place.lost = undefined
    lost.isForgiven = state === 'running'
    this.#world.visit(lost.isForgiven ? 'lease taken back while another worker ran it' : 'lease taken back')
    this.#awaited = undefined
    if (state === 'running') return
    Object.assign(lost, { endsAt, lapsedAt: undefined })
    Object.assign(place, { state: 'running', taking: lost })
  }

  /** Checks what a take answered about suspects. */
  #checkSuspects({ worker, leaseMs, suspects }: TakeRequest, { items, ranMs, isAwaited }: Taken): void {
    const now = this.#world.now
    const due = [...this.#places.values()].filter((place) => place.losses > 1 && isDue(place, now))
    const isOneAlone = [...this.#places.values()].some(
      ({ state, taking }) => state === 'running' && taking?.isAlone === true && taking.endsAt >= now,
    )
    const mustTake = suspects === 'take' && due.length > 0 && !isOneAlone
    if (mustTake !== (ranMs !== undefined) || (mustTake && items.length !== 1))
      this.#breach(
        `take gave ${items.length} items, ran ${ranMs}, of ${due.length} suspects to a worker that asked to ${suspects}`,
      )
    if (ranMs !== undefined) {
      const last = this.#places.get(items[0]?.key ?? '')?.lastLost
      if (last !== undefined && Math.abs(ranMs - Math.max(last.endsAt - leaseMs - last.at, 0)) > 2)
        this.#breach(`take says that a suspect ran for ${ranMs} ms, from ${last.at} to ${last.endsAt - leaseMs}`)
    }
    // Room is made for the next suspect: another one may be due before it.
    const [next] = due.toSorted((one, other) => one.dueAt - other.dueAt)
    if (ranMs !== undefined || this.#awaited?.next !== next || (this.#awaited?.at ?? 0) < now - leaseMs)
      this.#awaited = undefined
    if (isAwaited !== true) return
    this.#world.visit('room made for a suspect')
    const isOther = this.#awaited !== undefined && this.#awaited.worker !== worker
    if (suspects !== 'await' || due.length === 0 || isOneAlone || items.length > 0 || isOther)
      this.#breach(
        `take has ${worker} make room for ${due.length} suspects, as ${this.#awaited?.worker ?? 'nobody'} does`,
      )
    this.#awaited ??= { worker, at: now, next }
  }

  #join(worker: string): void {
    for (const { state, taking } of this.#places.values())
      if (state === 'running' && taking?.worker === worker && taking.isAlone) this.#joinOne(taking)
  }

  /** Allows others to begin beside a suspect only if it has run for longer than it had when its process died, or for ten seconds. */
  #joinOne(taking: Taking): void {
    const now = this.#world.now
    this.#world.visit('suspect joined')
    taking.isAlone = false
    taking.joinedAt = now
    const { lastLost } = [...this.#places.values()].find((place) => place.taking === taking) ?? {}
    const diedAt = lastLost?.life.death?.at
    if (lastLost === undefined || diedAt === undefined) return
    // Without its renewals nobody knows how long it ran.
    if (this.#world.history.isDisturbed(lastLost.life.process, lastLost.at, diedAt)) return
    const wantedMs = Math.min(diedAt - lastLost.at, LONGEST_ALONE_MS)
    if (now - taking.at < wantedMs)
      this.#world.findings.add(
        'not alone',
        `${taking.worker} lets others join event ${taking.event.number} after ${now - taking.at} ms instead of ${wantedMs}`,
      )
  }

  #hasLapsed(place: Place | undefined): boolean {
    return place?.state === 'running' && place.taking !== undefined && place.taking.endsAt < this.#world.now
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
    this.#world.findings.add('inbox broke its contract', what)
  }
}

function isDue({ state, dueAt }: Place, now: number): boolean {
  return state === 'waiting' && dueAt <= now
}
