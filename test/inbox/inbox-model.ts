import type { InboxState } from 'postern'
import type { TakeRequest } from '../../src/engine.ts'
import { MOST_DEATHS } from '../../src/inbox/settle.ts'

/**
 * Settlement of an item. `unproven`: its handlers were aborted. `giveBack`: they had not begun. `leave`: it failed, and leaves its lane.
 * `later`: it failed, and its next try is not due while the model runs.
 */
export type Ending = 'remove' | 'fail' | 'unproven' | 'giveBack' | 'bury' | 'leave' | 'later'

/**
 * Step of a sequence, by one of two workers. `stall`: the worker's lease ends, and it may come back. `die`: its lease ends, and a new worker
 * takes its place.
 */
export type Step =
  | { readonly call: 'put' | 'replay' | 'drop'; readonly key: number }
  | { readonly call: 'take'; readonly worker: number; readonly suspects: TakeRequest['suspects'] }
  | { readonly call: 'settle'; readonly worker: number; readonly key: number; readonly ending: Ending }
  | { readonly call: 'renew' | 'stall' | 'die'; readonly worker: number }

const ENDINGS: readonly Ending[] = ['remove', 'fail', 'unproven', 'giveBack', 'bury']
const FRESH = { state: 'waiting', failures: 0, deaths: 0, losses: 0 } as const
const IN_LANE = { isParked: false, isAway: false }
/** Endings that count as a failed try. */
export const FAILURES: readonly string[] = ['fail', 'leave', 'later']
const UNHELD = {
  holder: '',
  isAlone: false,
  isLapsed: false,
  lostBy: '',
  wasAlone: false,
  awaitedBy: '',
  isPutOff: false,
  isLater: false,
}

interface Row {
  state: InboxState
  failures: number
  deaths: number
  losses: number
  readonly marks: string[]
  /** Codes of its tries. */
  readonly tries: string[]
  holder: string
  isAlone: boolean
  /** True if the holder's lease has ended, and no other worker has asked for items since. */
  isLapsed: boolean
  /** The worker that caused the last loss, and whether it ran the item alone. */
  lostBy: string
  wasAlone: boolean
  /** The worker that makes room for it; `?` if two suspects are due. */
  awaitedBy: string
  /** True until the first search since it was settled. */
  isPutOff: boolean
  /** True if it waits for a later try. */
  isLater: boolean
  /** True if it waits for the other item of its lane. */
  isParked: boolean
  /** True if it has left its lane until it is due. */
  isAway: boolean
}

interface Taker {
  readonly name: string
  isStalled: boolean
  /** Items that it took and has not settled, though another worker may hold them now. `deaths` as at that time: the worker decides by them. */
  readonly runs: Map<number, { readonly isAlone: boolean; readonly deaths: number }>
}

/** The contract of an inbox in its plainest form, for two keys, of one lane or of none. */
export class InboxModel {
  readonly workers = [newTaker('A'), newTaker('B')]
  readonly #rows = new Map<number, Row>()
  readonly #isLate: boolean
  readonly #hasLane: boolean
  /** Keys and workers that were used so far, and deaths. */
  readonly #used = { keys: 0, workers: 0, deaths: 0 }

  /**
   * @param isLate true if an engine may take what is ready before a suspect that was put off
   * @param hasLane true if both items are of one lane
   */
  constructor(isLate = false, hasLane = false) {
    this.#isLate = isLate
    this.#hasLane = hasLane
  }

  /** All that the model knows, as text. */
  get image(): string {
    const workers = this.workers.map((worker) => [worker, ...worker.runs])
    return JSON.stringify([[...this.#rows], workers, this.#used])
  }

  /** Returns the worker of a step; for another step, one that does nothing. */
  workerOf(step: Step): Taker {
    return ('worker' in step ? this.workers[step.worker] : undefined) ?? newTaker('')
  }

  /** Returns what `get` and `list` show of an item. */
  show(key: number) {
    const row = this.#rows.get(key)
    if (row === undefined) return undefined
    const { failures, deaths, marks, tries } = row
    const state = row.state === 'running' && row.isLapsed ? 'waiting' : row.state
    return { key: `k${key}`, state, failures, deaths, marks: [...marks], tries: [...tries] }
  }

  /** The number of items that wait for a later try. */
  get later(): number {
    return [...this.#rows.values()].filter(({ isLater }) => isLater).length
  }

  /** The number of items that wait for another one of their lane. */
  get parked(): number {
    return [...this.#rows.values()].filter(({ isParked }) => isParked).length
  }

  /** Returns the steps that may come next: of those that differ only by numbers of unused keys and workers, one. */
  get steps(): readonly Step[] {
    const { keys, workers } = this.#used
    const isNextKeyDifferent = keys === 0 || this.#rows.size > 0
    const puts = [0, 1].slice(0, isNextKeyDifferent ? keys + 1 : keys)
    const known = [0, 1].slice(0, Math.max(keys, 1))
    return [
      ...puts.map((key) => ({ call: 'put', key }) as const),
      ...known.flatMap((key) => [{ call: 'replay', key } as const, { call: 'drop', key } as const]),
      ...[0, 1].slice(0, workers + 1).flatMap((worker) => this.#stepsOf(worker)),
    ]
  }

  #stepsOf(worker: number): readonly Step[] {
    const { name, runs, isStalled } = this.workers[worker] ?? newTaker('')
    const rows = [...this.#rows.values()]
    const isJoined = [...runs.values()].some(({ isAlone }) => isAlone)
    const suspects = isJoined ? 'join' : runs.size > 0 ? 'await' : 'take'
    const mayLeave = !isJoined && rows.some(({ losses }) => losses > 1)
    return [
      { call: 'take', worker, suspects },
      ...(mayLeave ? [{ call: 'take', worker, suspects: 'leave' } as const] : []),
      ...[...runs.keys()].flatMap((key) =>
        this.#endings.map((ending) => ({ call: 'settle', worker, key, ending }) as const),
      ),
      ...(rows.some((row) => isRunning(row) && row.holder === name) ? [{ call: 'stall', worker } as const] : []),
      ...(runs.size > 0 ? [{ call: 'die', worker } as const] : []),
      ...(isStalled ? [{ call: 'renew', worker } as const] : []),
    ]
  }

  get #endings(): readonly Ending[] {
    return this.#hasLane ? [...ENDINGS, 'leave'] : ENDINGS
  }

  /** Returns the answers that the contract allows. */
  call(step: Step): readonly string[] {
    if (step.call === 'put') return [this.#put(step.key)]
    if (step.call === 'replay') return [this.#hasten(step.key) ?? this.#reviveDead(step.key)]
    if (step.call === 'drop') return [this.#drop(step.key)]
    const worker = this.workerOf(step)
    if (step.call === 'stall') return [this.#stall(worker)]
    if (step.call === 'die') {
      if (!worker.isStalled) this.#stall(worker)
      this.workers[step.worker] = newTaker(`${worker.name.charAt(0)}${++this.#used.deaths}`)
      return ['']
    }
    if (worker.isStalled) this.#revive(worker)
    if (step.call === 'settle') return [this.#settle(worker, step.key, step.ending)]
    if (step.call !== 'take') return ['']
    this.#used.workers = Math.max(this.#used.workers, step.worker + 1)
    return this.#take(worker.name, step.suspects)
  }

  /** Follows the engine, which chooses among the allowed answers. */
  follow(step: Step, answer: string): void {
    if (step.call !== 'take') return
    const { name, runs } = this.workerOf(step)
    if (answer === 'room') {
      const suspects = [...this.#rows.values()].filter(isSuspect)
      for (const suspect of suspects) suspect.awaitedBy = suspects.length === 1 ? name : '?'
      return
    }
    const isAlone = answer.endsWith('alone')
    if (!isAlone) for (const row of this.#rows.values()) row.isPutOff = false
    const key = Number.parseInt(answer, 10)
    const row = this.#rows.get(key)
    if (row === undefined) return
    Object.assign(row, { state: 'running', holder: name, isAlone, isLapsed: false, awaitedBy: '' })
    runs.set(key, { isAlone, deaths: row.deaths })
  }

  #put(key: number): string {
    this.#used.keys = Math.max(this.#used.keys, key + 1)
    this.#reviveDead(key)
    if (this.#rows.has(key)) return ''
    const row = { ...FRESH, ...UNHELD, ...IN_LANE, marks: [], tries: [] }
    this.#rows.set(key, row)
    this.#enterLane(row)
    return ''
  }

  #enterLane(row: Row): void {
    row.isAway = false
    row.isParked = this.#hasLane && [...this.#rows.values()].some((other) => other !== row && isFirst(other))
  }

  /** If no other item of the lane is left that may run, the parked one may. */
  #leaveLane(): void {
    const rows = [...this.#rows.values()]
    const next = rows.some(isFirst) ? undefined : rows.find(({ isParked }) => isParked)
    if (next !== undefined) next.isParked = false
  }

  #hasten(key: number): string | undefined {
    const row = this.#rows.get(key)
    if (row?.isLater !== true) return undefined
    row.isLater = false
    return 'true'
  }

  #reviveDead(key: number): string {
    const row = this.#rows.get(key)
    if (row?.state !== 'dead') return 'false'
    Object.assign(row, FRESH)
    this.#enterLane(row)
    return 'true'
  }

  #drop(key: number): string {
    const row = this.#rows.get(key)
    if (row === undefined || isRunning(row)) return 'false'
    return this.#remove(key)
  }

  #remove(key: number): string {
    this.#rows.delete(key)
    this.#leaveLane()
    return 'true'
  }

  /** More than a lease passes. */
  #stall(worker: Taker): string {
    worker.isStalled = true
    for (const row of this.#rows.values()) {
      row.isLapsed ||= row.state === 'running' && row.holder === worker.name
      row.awaitedBy = ''
    }
    return ''
  }

  /** The worker is alive: it still holds what no other has taken, and the losses that it caused are taken back. */
  #revive(worker: Taker): void {
    const { name } = worker
    worker.isStalled = false
    for (const row of this.#rows.values()) {
      if (row.lostBy === name) {
        if (row.state === 'waiting') Object.assign(row, { state: 'running', holder: name, isAlone: row.wasAlone })
        Object.assign(row, { lostBy: '', losses: row.losses - 1, deaths: row.deaths - Number(row.wasAlone) })
      }
      if (row.holder === name) row.isLapsed = false
    }
  }

  #take(name: string, suspects: TakeRequest['suspects']): readonly string[] {
    for (const row of this.#rows.values()) {
      if (suspects === 'join' && row.holder === name) row.isAlone = false
      if (row.isLapsed && row.holder !== name) lose(row)
    }
    for (const row of this.#rows.values()) if (row.isAway) this.#enterLane(row)
    const waiting = [...this.#rows].filter(([, row]) => isDue(row))
    const due = waiting.filter(([, row]) => isSuspect(row))
    const usual = waiting.filter(([, row]) => !isSuspect(row)).map(([key]) => String(key))
    if (usual.length === 0) usual.push('nothing')
    const isOneAlone = [...this.#rows.values()].some((row) => isRunning(row) && row.isAlone)
    if (due.length === 0 || isOneAlone || suspects === 'leave' || suspects === 'join') return usual
    const mayBeLate = this.#isLate && due.some(([, { isPutOff }]) => isPutOff)
    const late = mayBeLate ? usual.filter((answer) => answer !== 'nothing') : []
    if (suspects === 'take') return [...due.map(([key]) => `${key} alone`), ...late]
    const mayWait = due.some(([, { awaitedBy }]) => ['', '?', name].includes(awaitedBy))
    const mustWait = due.every(([, { awaitedBy }]) => ['', name].includes(awaitedBy))
    return [...(mayWait ? ['room'] : []), ...(mustWait ? late : [...usual, ...late])]
  }

  #settle({ name, runs }: Taker, key: number, ending: Ending): string {
    const deathsThen = runs.get(key)?.deaths ?? 0
    runs.delete(key)
    const row = this.#rows.get(key)
    if (row?.state !== 'running' || row.holder !== name) return 'false'
    if (ending === 'remove') return this.#remove(key)
    Object.assign(row, UNHELD, { state: 'waiting', isPutOff: true })
    if (ending === 'giveBack') return 'true'
    const isFailure = FAILURES.includes(ending)
    const code = isFailure && deathsThen >= MOST_DEATHS ? 'crashed' : ending
    row.tries.push(code)
    if (FAILURES.includes(code)) Object.assign(row, { failures: row.failures + 1, losses: 0, deaths: 0 })
    if (code === 'bury' || code === 'crashed') Object.assign(row, { state: 'dead', marks: [code] })
    row.isAway = code === 'leave'
    row.isLater = code === 'later'
    this.#leaveLane()
    return 'true'
  }
}

const newTaker = (name: string): Taker => ({ name, isStalled: false, runs: new Map() })
const isRunning = ({ state, isLapsed }: Row) => state === 'running' && !isLapsed
const isDue = ({ state, isParked, isLater }: Row) => state === 'waiting' && !isParked && !isLater
/** True if the others of its lane wait for it. */
const isFirst = ({ state, isParked, isAway }: Row) => state !== 'dead' && !isParked && !isAway
/** Two or more losses make a suspect. */
const isSuspect = ({ state, losses }: Row) => state === 'waiting' && losses > 1

function lose(row: Row): void {
  const { holder: lostBy, isAlone: wasAlone, losses, deaths } = row
  const counts = { losses: losses + 1, deaths: deaths + Number(wasAlone) }
  Object.assign(row, UNHELD, { state: 'waiting', lostBy, wasAlone, ...counts })
}
