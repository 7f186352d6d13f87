import { deepStrictEqual } from 'node:assert/strict'
import type { Inbox, InboxEntry, InboxItem } from 'postern'
import type { InboxTable, ListedEntry, Settlement } from '../../src/engine.ts'
import { MOST_DEATHS } from '../../src/inbox/settle.ts'
import { type Ending, FAILURES, InboxModel, type Step } from './inbox-model.ts'

/** Engine under test, with tables that no other test uses. */
export interface Subject {
  readonly inbox: Pick<Inbox, 'put' | 'replay' | 'drop' | 'get' | 'list' | 'counts'>
  tableOf(worker: string): Pick<InboxTable, 'take' | 'renew' | 'settle'>
  readonly leaseMs: number
  /** True if it may take what is ready before a suspect that was put off. */
  readonly isLate?: boolean
  /** Lane of all items. */
  readonly lane?: string
  /** False if no worker loses its lease. */
  readonly canLose?: boolean
  /** Lets milliseconds pass. */
  pass(ms: number): unknown
  /** Saves what is stored. No worker holds anything. */
  save(): unknown
  /** Goes back to what was saved. */
  restore(): unknown
  /** Returns the stored rows as text. */
  readRows(): string | Promise<string>
}

/** Longer than all that passes in a sequence. */
const LATER_MS = 1e10
const STATES = ['waiting', 'running', 'dead'] as const
const PUT: Step = { call: 'put', key: 0 }
const PUT_OTHER: Step = { call: 'put', key: 1 }
const TAKE: Step = { call: 'take', worker: 0, suspects: 'take' }
const LEAVE: Step = { call: 'take', worker: 0, suspects: 'leave' }
const BURY: Step = { call: 'settle', worker: 0, key: 0, ending: 'bury' }
const LEAVE_LANE: Step = { call: 'settle', worker: 0, key: 0, ending: 'leave' }
const PUT_OFF: Step = { call: 'settle', worker: 0, key: 0, ending: 'later' }
const DIE: Step = { call: 'die', worker: 0 }

/** States after which all sequences are taken, and the steps that lead there. */
export const BEGINNINGS: Readonly<Record<string, readonly Step[]>> = {
  'an empty inbox': [],
  'a lost item': [PUT, TAKE, DIE],
  'a suspect': [PUT, TAKE, DIE, TAKE, DIE],
  'a suspect and another item': [PUT, PUT_OTHER, TAKE, DIE, TAKE, DIE],
  'two suspects': [PUT, TAKE, DIE, TAKE, DIE, PUT_OTHER, LEAVE, DIE, LEAVE, DIE],
  'a suspect that killed two workers alone': [PUT, TAKE, DIE, TAKE, DIE, TAKE, DIE, TAKE, DIE],
  'a failure with a later try': [PUT, TAKE, PUT_OFF],
  'a dead letter that was a suspect': [PUT, TAKE, DIE, TAKE, DIE, TAKE, BURY, DIE],
}

/** States of two items of one lane. */
export const BEGINNINGS_IN_LANE: Readonly<Record<string, readonly Step[]>> = {
  'an empty inbox': [],
  'the loss of the first item': [PUT, PUT_OTHER, TAKE, DIE],
  'the first item has left': [PUT, PUT_OTHER, TAKE, LEAVE_LANE],
  'the first item was buried': [PUT, PUT_OTHER, TAKE, BURY],
  'the first item waits for a later try': [PUT, PUT_OTHER, TAKE, PUT_OFF],
}

/**
 * Takes all sequences of so many steps after the first ones, and throws at the first answer that differs from the model's. A step that changes
 * nothing, neither in the model nor in the rows, ends its sequence. Returns the number of sequences.
 */
export async function takeEverySequence(subject: Subject, first: readonly Step[], depth: number): Promise<number> {
  const run = new Run(subject)
  await run.begin(first)
  let count = 0
  const visit = async (steps: readonly Step[]): Promise<void> => {
    await run.go(steps)
    for (const step of run.model.steps) {
      await run.go(steps)
      if (!run.offers(step)) continue // the engine chose another item this time
      count++
      const isChange = await run.take(step)
      if (isChange && steps.length + 1 < depth) await visit([...steps, step])
    }
  }
  await visit([])
  return count
}

/** An engine and the model that take the same steps. */
class Run {
  model: InboxModel
  readonly #subject: Subject
  #taken: { readonly step: Step; readonly answer: string }[] = []
  /** The number of steps that are saved. */
  #saved = 0
  /** Items that each worker took last, by its name and the key. */
  readonly #entries = new Map<string, InboxEntry>()

  constructor(subject: Subject) {
    this.#subject = subject
    this.model = new InboxModel(subject.isLate, subject.lane !== undefined)
  }

  async begin(steps: readonly Step[]): Promise<void> {
    for (const step of steps) await this.#compare(step)
    this.#saved = steps.length
    await this.#subject.save()
  }

  /** Takes these steps after the saved ones, unless they were taken last. */
  async go(steps: readonly Step[]): Promise<void> {
    const since = this.#taken.slice(this.#saved)
    if (since.length === steps.length && since.every(({ step }, index) => step === steps[index])) return
    await this.#subject.restore()
    this.#taken.length = this.#saved
    this.model = new InboxModel(this.#subject.isLate, this.#subject.lane !== undefined)
    for (const { step, answer } of this.#taken) {
      this.model.call(step)
      this.model.follow(step, answer)
    }
    for (const step of steps) await this.#compare(step)
  }

  offers(step: Step): boolean {
    if (this.#subject.canLose === false && (step.call === 'stall' || step.call === 'die')) return false
    return step.call !== 'settle' || this.model.workerOf(step).runs.has(step.key)
  }

  /** Takes a step and looks at all items. Returns false, and forgets the step, if it changed nothing. */
  async take(step: Step): Promise<boolean> {
    const before = [this.model.image, await this.#subject.readRows()]
    await this.#compare(step)
    if (this.model.image === before[0] && (await this.#subject.readRows()) === before[1]) {
      this.#taken.pop()
      return false
    }
    await this.#look()
    return true
  }

  async #compare(step: Step): Promise<void> {
    const { name, isStalled } = this.model.workerOf(step)
    const others = this.model.workers.filter((each) => each.name !== name && !each.isStalled && each.runs.size > 0)
    const allowed = this.model.call(step)
    let answer = ''
    if (step.call === 'stall' || step.call === 'die') {
      if (!isStalled) await this.#outlast(others)
    } else answer = 'worker' in step ? await this.#work(step, name) : await this.#steer(step.call, step.key)
    // A worker that comes back renews its leases soon, whatever it does first.
    if (isStalled && step.call !== 'die') await this.#renew(name)
    this.#taken.push({ step, answer })
    if (!allowed.includes(answer)) this.#equal(answer, allowed)
    this.model.follow(step, answer)
  }

  /** Lets more than a lease pass, in which the others renew theirs. */
  async #outlast(others: readonly { readonly name: string }[]): Promise<void> {
    for (let part = 0; part < 2; part++) {
      await this.#subject.pass(this.#subject.leaseMs * 0.6)
      for (const { name } of others) await this.#renew(name)
    }
  }

  async #renew(name: string): Promise<void> {
    await this.#subject.tableOf(name).renew(name, this.#subject.leaseMs)
  }

  async #steer(call: 'put' | 'replay' | 'drop', key: number): Promise<string> {
    const { inbox } = this.#subject
    if (call !== 'put') return String(await inbox[call](`k${key}`))
    await inbox.put(makeItem(key, this.#subject.lane))
    return ''
  }

  async #work(step: Extract<Step, { readonly worker: number }>, worker: string): Promise<string> {
    const { leaseMs, tableOf } = this.#subject
    if (step.call === 'settle') {
      const entry = this.#entries.get(`${worker} ${step.key}`)
      return String(entry && (await tableOf(worker).settle(entry, worker, toSettlement(entry, worker, step.ending))))
    }
    if (step.call !== 'take') return ''
    const request = { worker, limit: 1, leaseMs, suspects: step.suspects }
    const { items, ranMs, isAwaited } = await tableOf(worker).take(request)
    const [item] = items
    if (item === undefined) return isAwaited ? 'room' : 'nothing'
    const key = Number(item.key.slice(1))
    this.#entries.set(`${worker} ${key}`, item)
    this.#equal([toShown(item), [...item.bytes]], [{ ...this.model.show(key), state: 'running' }, [key]])
    return ranMs === undefined ? `${key}` : `${key} alone`
  }

  /** Compares what people see. */
  async #look(): Promise<void> {
    const { inbox } = this.#subject
    const [first, second, { oldestDueAt, oldestParkedAt, parked = 0, ...counts }, ...pages] = await Promise.all([
      ...([inbox.get('k0'), inbox.get('k1'), inbox.counts()] as const),
      ...STATES.map((state) => inbox.list(state)),
    ])
    const expected = [this.model.show(0), this.model.show(1)].filter((item) => item !== undefined)
    const found = [first, second].filter((entry) => entry !== undefined)
    const byKey = (one: { readonly key: string }, other: { readonly key: string }) => (one.key < other.key ? -1 : 1)
    const listed = pages.flatMap(({ entries }) => entries).sort(byKey)
    const count = (wanted: string) => expected.filter(({ state }) => state === wanted).length
    const [waiting = 0, running, dead] = STATES.map(count)
    const isParked = this.model.parked > 0
    this.#equal(
      [
        found.map(toShown),
        listed.map(toShown),
        counts,
        oldestDueAt !== undefined,
        parked,
        oldestParkedAt !== undefined,
      ],
      [
        expected,
        expected,
        { waiting, running, dead },
        waiting > this.model.parked + this.model.later,
        this.model.parked,
        isParked,
      ],
    )
  }

  #equal(found: unknown, expected: unknown): void {
    if (JSON.stringify(found) === JSON.stringify(expected)) return // nearly always, and much faster
    const lines = this.#taken.map(
      ({ step, answer }, index) => `${index + 1}. ${Object.values(step).join(' ')}: ${answer}`,
    )
    deepStrictEqual(
      found,
      expected,
      `${lines.join('\n')}\nfound ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`,
    )
  }
}

function makeItem(key: number, lane: string | undefined): InboxItem {
  const bytes = new Uint8Array([key])
  return { key: `k${key}`, bytes, lane, accountKey: 'acme', id: `evt_${key}`, type: 'contact.created', receivedAt: 0 }
}

function toShown({ key, state, failures, deaths, marks, tries }: ListedEntry) {
  return { key, state, failures, deaths, marks, tries: tries.map(({ code }) => code) }
}

/** As a worker decides: an item that fails after three deaths is a dead letter. */
function toSettlement({ deaths, tries }: InboxEntry, worker: string, ending: Ending): Settlement {
  if (ending === 'remove') return { next: ending }
  if (ending === 'giveBack') return { next: 'wait', afterMs: 0, isFailure: false }
  const isFailure = FAILURES.includes(ending)
  const code = isFailure && deaths >= MOST_DEATHS ? 'crashed' : ending
  const tried = { n: (tries.at(-1)?.n ?? 0) + 1, dueAt: 0, startedAt: 0, endedAt: 0, code, worker }
  if (code === 'bury' || code === 'crashed') return { next: 'bury', marks: [code], tried }
  const afterMs = code === 'later' ? LATER_MS : 0
  return { next: 'wait', afterMs, isFailure, tried, isUnproven: code === 'unproven', leavesLane: code === 'leave' }
}
