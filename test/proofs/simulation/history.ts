import type { DeliveryFacts, Disturbance, Grant, HandlerRun, LifeFacts } from './facts.ts'
import { type EventPlan, nameOf } from './plan.ts'

/** Records the events of all processes. It survives them. */
export class History {
  readonly runs: HandlerRun[] = []
  readonly deliveries: DeliveryFacts[] = []
  readonly disturbances: Disturbance[] = []
  /** Losses of an engine: the events of which it lost what it had learned since a time. */
  readonly losses: { readonly event: EventPlan; readonly since: number; readonly at: number }[] = []
  /** The last time at which an engine dropped positions. */
  positionsDroppedAt = Number.NEGATIVE_INFINITY
  /** Rows that handlers wrote in transactions: the handler and the event of each. */
  readonly rows: string[] = []
  /** The rows of handlers with an order. */
  readonly orderedRows = new Set<string>()
  readonly #now: () => number
  readonly events: readonly EventPlan[]
  readonly #byHandler = new Map<string, HandlerRun[]>()
  readonly #schemaRuns = new Map<string, number>()
  readonly #effects = new Set<string>()

  constructor(events: readonly EventPlan[], now: () => number) {
    this.events = events
    this.#now = now
  }

  /** Returns the event of a store's key, which contains its account and its id. */
  findByKey(key: string): EventPlan | undefined {
    return this.events.find(({ id, account }) => key.includes(account) && key.endsWith(id))
  }

  find(id: unknown, account: unknown): EventPlan | undefined {
    return this.events.find((event) => event.id === id && event.account === account)
  }

  begin(event: EventPlan, handler: string, life: LifeFacts, grant: Grant | undefined): HandlerRun {
    const earlier = this.runsOf(event, handler)
    const run: HandlerRun = {
      event,
      handler,
      number: earlier.length,
      life,
      grant,
      beganAt: this.#now(),
      endedAt: undefined,
      completedAt: undefined,
      waitsForAbort: false,
      wish: undefined,
      isUnsure: false,
      isLeftToTransaction: false,
      stalledMs: life.stalledMs,
    }
    this.#byHandler.set(toKey(event, handler), [...earlier, run])
    this.runs.push(run)
    return run
  }

  /** The handler succeeded, or its transaction was committed. */
  complete(run: HandlerRun): void {
    run.completedAt ??= this.#now()
  }

  end(run: HandlerRun): void {
    run.endedAt ??= this.#now()
  }

  /** The handler had its effect. */
  addEffect(run: HandlerRun): void {
    this.#effects.add(toKey(run.event, run.handler))
  }

  /** Returns how the row is undone by an engine that loses it. */
  addRow(run: HandlerRun): () => void {
    const { event, handler, life } = run
    const row = toKey(event, handler)
    this.rows.push(row)
    if (life.handlers.some((each) => each.isOrdered && nameOf(each) === handler)) this.orderedRows.add(row)
    this.addEffect(run)
    return () => {
      this.rows.splice(this.rows.lastIndexOf(row), 1)
      this.orderedRows.delete(row)
    }
  }

  /** Returns whether the engine lost what it learned of an event between two times, or lost anything of it then. */
  isLost(event: EventPlan, since: number, until: number): boolean {
    return this.losses.some((loss) => loss.event === event && loss.at >= since && loss.since <= until)
  }

  hasEffect(event: EventPlan, handler: string): boolean {
    return this.#effects.has(toKey(event, handler))
  }

  runsOf(event: EventPlan, handler: string): readonly HandlerRun[] {
    return this.#byHandler.get(toKey(event, handler)) ?? []
  }

  /** Returns how often the schema was asked about a record before. */
  countSchemaRun(record: string): number {
    const count = this.#schemaRuns.get(record) ?? 0
    this.#schemaRuns.set(record, count + 1)
    return count
  }

  isCompleted(event: EventPlan, handler: string): boolean {
    return this.runsOf(event, handler).some(({ completedAt }) => completedAt !== undefined)
  }

  /** Returns how many runs there were of handlers that had succeeded before. */
  countRepeated(): number {
    return this.runs.filter((next) =>
      this.runsOf(next.event, next.handler)
        .slice(0, next.number)
        .some(({ completedAt }) => completedAt !== undefined && completedAt <= next.beganAt),
    ).length
  }

  /** Returns the last run of a handler for an event in one process. */
  lastRunIn(life: LifeFacts, event: EventPlan, handler: string): HandlerRun | undefined {
    return this.runsOf(event, handler).findLast((run) => run.life === life)
  }

  /** Returns whether a process was disturbed between two times, also at one of them. */
  isDisturbed(process: number, since: number, until: number): boolean {
    return this.disturbances.some(
      (each) => (each.process ?? process) === process && each.from <= until && each.to >= since,
    )
  }

  disturb(process: number | undefined, ms: number, isStall = false): void {
    this.disturbances.push({ process, from: this.#now(), to: this.#now() + ms, isStall })
  }
}

function toKey(event: EventPlan, handler: string): string {
  return `${handler} of event ${event.number}`
}
