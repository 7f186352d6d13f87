import type { Settlement, TakenItem } from '../../../../src/engine.ts'
import type { HandlerRun } from '../facts.ts'
import type { Life } from '../life.ts'
import { handlersOf, nameOf, SCHEMA } from '../plan.ts'
import type { World } from '../world.ts'
import type { InboxHouse } from './inbox-house.ts'
import type { Taking } from './inbox-ledger.ts'

/** Processes that may die while they run an item alone. */
const MOST_DEATHS = 3
const DEFAULT_DELAYS_MS = [1, 10, 60, 300, 1_800, 7_200, 21_600, 43_200, 86_400].map((seconds) => seconds * 1_000)
const JITTER = 0.1
/** The shortest time for which `RetryLater` defers an item. */
const LEAST_DELAY_MS = 100
/** Codes of tries that prove nothing against an event. */
const NOBODYS_FAULT = ['busy', 'store_unavailable', 'lease_lost', 'closing']

/** One try of a worker, at its start. */
export interface Trial {
  readonly taking: Taking
  readonly item: TakenItem
  readonly beganAt: number
  /** Runs of handlers before it. */
  readonly runsBefore: number
}

/** Checks that an item whose last worker died has its process to itself. Returns the try; undefined if the engine never gave it. */
export function judgeBeginning(world: World, house: InboxHouse, life: Life, item: TakenItem): Trial | undefined {
  const { findings, now, history } = world
  const taking = house.ledger.takings.findLast(
    (each) => each.life === life && each.item.key === item.key && each.worker === item.worker,
  )
  if (taking === undefined) {
    findings.add('inbox broke its contract', `${life.name} runs ${item.key}, which it was not given`)
    return undefined
  }
  if (life.isWorkerClosing)
    findings.add(
      'kept by a closed worker',
      `${life.name} begins event ${taking.event.number} though its worker is being closed`,
    )
  // What an earlier worker of the process left running when it was closed is not this one's.
  const others = life.trials.filter((trial) => trial.taking !== taking && trial.taking.worker === taking.worker)
  if (others.length > 0 && [taking, ...others.map((trial) => trial.taking)].some((each) => house.ledger.isAlone(each)))
    findings.add(
      'not alone',
      `${life.name} runs event ${taking.event.number} beside others, one of which has to run alone`,
    )
  const { concurrency } = house.plan.work
  if (others.length >= concurrency)
    findings.add('not alone', `${life.name} runs more than ${concurrency} events at once`)
  const trial: Trial = { taking, item, beganAt: now, runsBefore: history.runs.length }
  life.trials.push(trial)
  // The owner gets a report of each try, except for a killer's, which has none.
  if (item.deaths < MOST_DEATHS) life.received++
  return trial
}

/** Checks an item's fate after a try against the acts of its handlers. */
export function judgeSettlement(world: World, house: InboxHouse, trial: Trial, settlement: Settlement): void {
  const { taking } = trial
  taking.life.trials.splice(taking.life.trials.indexOf(trial), 1)
  new SettlementJudge(world, house, trial).judge(settlement)
}

/** Returns whether a run did not succeed, or its handler cannot know that it did: its transaction was committed without an answer. */
function isUncertain({ completedAt, endedAt, isUnsure }: HandlerRun): boolean {
  return isUnsure || completedAt === undefined || endedAt === undefined || completedAt > endedAt
}

class SettlementJudge {
  readonly #world: World
  readonly #house: InboxHouse
  readonly #trial: Trial
  /** Returns the runs of its handlers in this try. */
  readonly #runs: readonly HandlerRun[]

  constructor(world: World, house: InboxHouse, trial: Trial) {
    this.#world = world
    this.#house = house
    this.#trial = trial
    const { event, life } = trial.taking
    const isMeant = (run: HandlerRun) => run.event === event && run.life === life
    this.#runs = world.history.runs.slice(trial.runsBefore).filter(isMeant)
  }

  judge(settlement: Settlement): void {
    const { item } = this.#trial
    if (item.deaths >= MOST_DEATHS) return this.#judgeKiller(settlement)
    if (settlement.next === 'remove') return this.#judgeRemoval()
    this.#judgeMarks(settlement)
    const code = settlement.tried?.code ?? 'none'
    if (code === 'unexpected') this.#add('threw', 'the receiver itself failed')
    if (code === 'crashed') this.#add('dead too soon', `it counts as a killer after ${item.deaths} deaths`)
    if (item.signal.aborted || NOBODYS_FAULT.includes(code)) return this.#judgeNobodysFault(settlement, code)
    const wish = code === 'handler_failed' || code === 'dead_letter' || code === 'expired' ? this.#wish() : undefined
    if (wish === 'bury') this.#expectBurial(settlement, 'dead_letter')
    else if (wish !== undefined) this.#judgePutOff(settlement, wish.afterMs)
    else this.#judgeFailure(settlement, code)
  }

  /** Checks an item that is removed from the inbox for good: its handlers have succeeded. */
  #judgeRemoval(): void {
    const { history, ledger } = this.#world
    const { event, life } = this.#trial.taking
    const wanted = handlersOf(life.handlers, event.type).map(nameOf)
    const missing = wanted.filter((name) => !history.isCompleted(event, name))
    if (wanted.length === 0 && !ledger.isDone(event)) this.#add('vanished', 'it is removed, and has no handler')
    if (missing.length > 0 && !ledger.isDone(event))
      this.#add('vanished', `it is removed, but ${missing.join(', ')} had not succeeded`)
  }

  #judgeKiller(settlement: Settlement): void {
    const { event, life } = this.#trial.taking
    const code = settlement.next === 'remove' ? undefined : (settlement.tried?.code ?? 'none')
    if (code === undefined) this.#judgeRemoval()
    else if (this.#trial.item.signal.aborted || NOBODYS_FAULT.includes(code)) this.#judgeNobodysFault(settlement, code)
    else this.#expectBurial(settlement, 'crashed')
    if (this.#runs.length > 0) this.#add('not dead', 'it runs though it has killed three processes')
    const { since } = this.#trial.item
    const isSameItem = (taking: Taking) => taking.event === event && taking.item.since === since
    const alone = this.#house.ledger.takings.filter(
      (taking) => taking.isAlone && taking.lapsedAt !== undefined && !taking.isForgiven && isSameItem(taking),
    )
    if (alone.length < MOST_DEATHS)
      this.#add('dead too soon', `it ran alone for ${alone.length} deaths in ${life.name}`)
    this.#judgeMarks(settlement)
  }

  #judgeNobodysFault(settlement: Settlement, code: string): void {
    const { item, taking } = this.#trial
    const { leaseMs } = this.#world.plan.settings
    if (settlement.next !== 'wait' || settlement.isFailure)
      return this.#add('miscounted', `its try counts, or is its last, though it is nobody's fault (${code})`)
    if (settlement.isUnproven !== true && taking.isSuspect)
      this.#add('miscounted', `its deaths are forgiven, though it has proven nothing (${code})`)
    if (!item.signal.aborted && (code === 'busy' || code === 'store_unavailable') && this.#runs.length > 0)
      this.#add('miscounted', `its handlers ran, and the try is called ${code}`)
    const leastMs = item.signal.aborted || code === 'closing' ? 0 : code === 'store_unavailable' ? 1_000 : leaseMs
    if (settlement.afterMs < leastMs)
      this.#add('back too soon', `it comes back after ${settlement.afterMs} ms (${code})`)
    // A released item must run elsewhere now.
    if (leastMs === 0 && settlement.afterMs > 0) this.#add('held up', `it is given back for ${settlement.afterMs} ms`)
  }

  #judgePutOff(settlement: Settlement, wishedMs: number): void {
    const { item, taking } = this.#trial
    const { retentionMs } = this.#world.plan.settings
    // By the wall clock of its process, which may be wrong.
    const isExpired = taking.life.clock.now() + wishedMs > item.since + retentionMs
    if (isExpired) return this.#expectBurial(settlement, 'expired')
    if (settlement.next !== 'wait' || settlement.isFailure)
      return this.#add('miscounted', `it is put off for ${wishedMs} ms, and that counts as a failure`)
    if (settlement.isUnproven === true)
      this.#add('miscounted', 'its handlers ran to their end, and it counts as unproven')
    const wantedMs = Math.max(wishedMs, LEAST_DELAY_MS)
    this.#judgeDelay(settlement.afterMs, wantedMs, wantedMs)
  }

  #judgeFailure(settlement: Settlement, code: string): void {
    const { item } = this.#trial
    const { attempts, delaysMs } = this.#house.plan.work
    if (!this.#hasFailed()) this.#add('miscounted', `its try counts as failed (${code}), and nothing failed`)
    const failures = item.failures + 1
    if (failures >= attempts) return this.#expectBurial(settlement, code)
    if (settlement.next !== 'wait' || !settlement.isFailure)
      return this.#add('miscounted', `failure ${failures} of ${attempts} (${code}) makes it ${settlement.next}`)
    if (settlement.isUnproven === true)
      this.#add('miscounted', 'its handlers ran to their end, and it counts as unproven')
    const wanted = delaysMs?.[failures - 1]
    if (wanted !== undefined) return this.#judgeDelay(settlement.afterMs, wanted, wanted)
    const delayMs = DEFAULT_DELAYS_MS[failures - 1] ?? 86_400_000
    this.#judgeDelay(settlement.afterMs, delayMs * (1 - JITTER) - 1, delayMs * (1 + JITTER) + 1)
  }

  #judgeDelay(afterMs: number, leastMs: number, mostMs: number): void {
    if (afterMs < leastMs) this.#add('back too soon', `it comes back after ${afterMs} ms instead of ${leastMs}`)
    if (afterMs > mostMs) this.#add('held up', `it comes back after ${afterMs} ms instead of ${mostMs}`)
  }

  /** Returns whether a failure in this try is the fault of the event, or of its handlers. */
  #hasFailed(): boolean {
    const { event, life } = this.#trial.taking
    const { interceptor } = this.#world.plan.settings
    const isStrange = interceptor === 'skips it' || event.troubles.some(({ handler }) => handler === SCHEMA)
    const hasNone = handlersOf(life.handlers, event.type).length === 0
    return isStrange || hasNone || this.#runs.some(isUncertain)
  }

  /** Returns the wishes of the handlers that failed, if none of them failed without one. */
  #wish(): HandlerRun['wish'] {
    const failed = this.#runs.filter((run) => run.endedAt !== undefined && isUncertain(run))
    const wishes = failed.map(({ wish }) => wish)
    if (failed.length === 0 || wishes.includes(undefined)) return undefined
    const afterMs = wishes.flatMap((wish) => (wish === 'bury' || wish === undefined ? [] : [wish.afterMs]))
    return afterMs.length === 0 ? 'bury' : { afterMs: Math.max(...afterMs) }
  }

  #expectBurial(settlement: Settlement, code: string): void {
    if (settlement.next !== 'bury')
      this.#add('not dead', `it is to be a dead letter (${code}), and is to ${settlement.next}`)
    else if (settlement.tried.code !== code)
      this.#add('not dead', `it is a dead letter as ${settlement.tried.code} instead of ${code}`)
  }

  /** A dead letter keeps the names of the handlers that have finished: the store forgets them. */
  #judgeMarks(settlement: Settlement): void {
    if (settlement.next !== 'bury') return
    const { taking, item } = this.#trial
    const { history, plan } = this.#world
    const since = this.#world.now - plan.settings.retentionMs
    const names = handlersOf(taking.life.handlers, taking.event.type).map(nameOf)
    const known = names.filter((name) => this.#isKnown(name, since))
    // Whether or not this process has the handler: another deployment has it.
    const finished = [...known, ...this.#world.ledger.marksOf(taking.event, taking.at), ...item.marks]
    const lost = finished.filter((name) => !settlement.marks.includes(name))
    if (lost.length > 0) this.#add('marks lost', `it is a dead letter without the marks of ${lost.join(', ')}`)
    const stray = settlement.marks.find((name) => !history.isCompleted(taking.event, name))
    if (stray !== undefined) this.#add('mark without work', `it is a dead letter with the mark of ${stray}`)
  }

  /** Returns whether this process knows that a handler has finished: it ran here, the claim said so, or the item did. */
  #isKnown(name: string, since: number): boolean {
    const { taking, item } = this.#trial
    const inThisTry = this.#runs.find((run) => run.handler === name && !isUncertain(run))
    const grant = this.#world.ledger.lastGrant(taking.event, taking.life)
    const isTold = grant !== undefined && grant.askedAt >= Math.max(taking.at, since) && grant.marks.has(name)
    return inThisTry !== undefined || isTold || item.marks.includes(name)
  }

  #add(rule: Parameters<World['findings']['add']>[0], what: string): void {
    const { event, life } = this.#trial.taking
    this.#world.findings.add(rule, `${life.name} ran event ${event.number}: ${what}`)
  }
}
