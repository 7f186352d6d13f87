import {
  type Claim,
  ConfigurationError,
  createReceiver,
  type Logger,
  type MemoryStore,
  memoryStore,
  type Outcome,
  type OutcomeInfo,
  type Position,
  PosternError,
  type Receiver,
  type ReceiverOptions,
  type Store,
  type TransactionClaim,
  type WebhookEvent,
} from 'postern'
import { type ManualClock, manualClock, type SignedOptions, signed } from 'postern/testing'
import { afterEach, beforeEach, expect } from 'vitest'
import type { DeliveryRequest, HeaderValue } from '../../src/engine.ts'
import { Gate } from '../support/gate.ts'

export const SECRET = 'whsec_receiver_tests'

/** Lets every pending promise chain run as far as it can. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

export type Method = 'claim' | 'renew' | 'complete' | 'release'

/** The behaviour of one call of a store: it may be carried out now, later, or not at all. */
export type Behaviour = <T>(call: () => T, clock: ManualClock) => T | Promise<T>

const wait = (clock: ManualClock, ms: number) => new Promise<void>((resolve) => clock.setTimeout(resolve, ms))

export const atOnce: Behaviour = (call) => call()
export const soon: Behaviour = async (call) => call()
export const throwing: Behaviour = () => {
  throw new Error('the engine is gone')
}
export const rejecting: Behaviour = () => Promise.reject(new Error('the engine is gone'))
export const hanging: Behaviour = () => new Promise(() => {})
/** Carried out immediately, answered after `ms`. */
export const answeringAfter =
  (ms: number): Behaviour =>
  async (call, clock) => {
    const answer = call()
    await wait(clock, ms)
    return answer
  }
/** Carried out and answered after `ms`. */
export const delayedBy =
  (ms: number): Behaviour =>
  async (call, clock) => {
    await wait(clock, ms)
    return call()
  }
/** Not carried out; `value` is the answer. */
export const saying =
  (value: unknown): Behaviour =>
  async () =>
    value as never // replaces any answer of a custom store

type Claimed = Extract<Claim, { readonly state: 'claimed' }>
type Brought = [(readonly Position[])?]

/** A memory store with scripted behaviour: each call takes the next behaviour planned for its method, or the usual one. */
export class ScriptedStore implements Store {
  readonly inner: MemoryStore
  readonly retentionMs: number
  readonly keepsPositions = true
  readonly calls: {
    readonly method: Method
    readonly at: number
    readonly marks?: readonly string[]
    /** The last arguments, of handlers with an order. */
    readonly more: readonly unknown[]
  }[] = []
  usual: Behaviour
  readonly #clock: ManualClock
  readonly #plans: Record<Method, Behaviour[]> = {
    claim: [],
    renew: [],
    complete: [],
    release: [],
  }

  /** @param inner the engine of this connection: each process has its own connection to one engine */
  constructor(clock: ManualClock, usual: Behaviour = soon, inner: MemoryStore = memoryStore({ clock })) {
    this.#clock = clock
    this.usual = usual
    this.inner = inner
    this.retentionMs = this.inner.retentionMs
  }

  plan(method: Method, ...behaviours: Behaviour[]): this {
    this.#plans[method].push(...behaviours)
    return this
  }

  count(method: Method): number {
    return this.calls.filter((call) => call.method === method).length
  }

  marksOf(method: Method): readonly (readonly string[])[] {
    return this.calls.filter((call) => call.method === method).map(({ marks }) => [...(marks ?? [])])
  }

  claim(key: string, leaseMs: number, ...more: [(readonly string[])?]): Claim | Promise<Claim> {
    return this.#carryOut('claim', () => this.inner.claim(key, leaseMs, ...more) as Claim, more) // memoryStore answers synchronously
  }

  renew(key: string, token: string, leaseMs: number, marks: readonly string[], ...more: Brought) {
    return this.#carryOut('renew', () => this.inner.renew(key, token, leaseMs, marks, ...more) as boolean, more, marks) // as above
  }

  complete(key: string, token: string, ...more: Brought): boolean | Promise<boolean> {
    return this.#carryOut('complete', () => this.inner.complete(key, token, ...more) as boolean, more) // as above
  }

  release(key: string, token: string, marks: readonly string[], ...more: Brought): boolean | Promise<boolean> {
    return this.#carryOut('release', () => this.inner.release(key, token, marks, ...more) as boolean, more, marks) // as above
  }

  #carryOut<T>(method: Method, call: () => T, more: readonly unknown[], marks?: readonly string[]): T | Promise<T> {
    this.calls.push({ method, at: this.#clock.monotonic(), ...(marks !== undefined && { marks: [...marks] }), more })
    return (this.#plans[method].shift() ?? this.usual)(call, this.#clock)
  }
}

/** The part of a database that the work of a transaction gets. */
export interface Tx {
  write(row: string): void
}

const aborted = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

/** A database of one table beside the claims: the rows of `work`, the mark and the position exist together. */
export class TransactionalStore extends ScriptedStore {
  readonly rows: string[] = []
  readonly claims: TransactionClaim[] = []
  readonly keys: string[] = []
  /** The fate of the commit: it is carried out, or not, or its answer is lost. */
  atCommit: (commit: () => void) => unknown = (commit) => commit()

  override claim(key: string, leaseMs: number, ...more: [(readonly string[])?]) {
    this.keys.push(key)
    return super.claim(key, leaseMs, ...more)
  }

  async transaction<T>(claim: TransactionClaim, work: (tx: Tx) => T | PromiseLike<T>): Promise<T> {
    const { key, token, mark, position, signal } = claim
    this.claims.push(claim)
    const written: string[] = []
    const value = await Promise.race([work({ write: (row) => written.push(row) }), aborted(signal)])
    const commit = () => {
      const { positions: [latest = Number.NEGATIVE_INFINITY] = [] } =
        position === undefined ? {} : (this.inner.claim(`reads ${key}`, 0, [position.key]) as Claimed)
      if (position !== undefined && latest > position.at)
        throw new PosternError('event_outdated', 'a newer event of the record was committed')
      if (!this.inner.renew(key, token, 15_000, [mark], position && [position]))
        throw new PosternError('lease_lost', 'somebody else has the event')
      this.rows.push(...written)
    }
    await Promise.race([this.atCommit(commit), aborted(signal)])
    return value
  }
}

export interface Line {
  readonly level: keyof Logger
  readonly fields: Readonly<Record<string, unknown>>
  readonly message: string
}

export function linesInto(lines: Line[]): Logger {
  const write = (level: keyof Logger) => (fields: Readonly<Record<string, unknown>>, message: string) => {
    lines.push({ level, fields, message })
  }
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}

const isManual = (clock: unknown): clock is ManualClock => 'advance' in Object(clock)

/** The benches of the test that runs. */
const benches = new Set<Bench>()

type Options = Partial<ReceiverOptions<Record<string, never>, Record<string, never>>>

/** A receiver on a manual clock and a scripted store, which records everything that it reports. */
export class Bench {
  readonly clock: ManualClock
  readonly store: ScriptedStore
  readonly outcomes: (Outcome & { readonly source: string | undefined; readonly durationMs: number })[] = []
  readonly errors: PosternError[] = []
  readonly lines: Line[] = []
  readonly receiver: Receiver

  constructor({ usual = soon, ...options }: { readonly usual?: Behaviour } & Record<string, unknown> = {}) {
    this.clock = isManual(options.clock) ? options.clock : manualClock()
    this.store = new ScriptedStore(this.clock, usual)
    const given: Options = {
      secret: SECRET,
      store: this.store,
      clock: this.clock,
      logger: linesInto(this.lines),
      onOutcome: (outcome: Outcome, info: OutcomeInfo) => this.outcomes.push({ ...outcome, ...info }),
      onError: (error: PosternError) => this.errors.push(error),
      ...options,
    }
    this.receiver = createReceiver(given as ReceiverOptions<never, never>) as unknown as Receiver // tables of options are untyped
    benches.add(this)
  }

  /** Signs and delivers; the answer may be awaited after time was moved. */
  send(
    event: WebhookEvent<string, unknown> | string | Uint8Array,
    delivery: {
      readonly source?: string
      readonly receivedAt?: number
      readonly waitUntil?: (work: Promise<unknown>) => void
    } & Partial<SignedOptions> = {},
  ): Promise<Outcome> {
    const { secret = SECRET, format, tamper, ...rest } = delivery
    const signing = { secret, ...(format && { format }), ...(tamper && { tamper }) }
    return this.receiver.receive({ ...signed(event, signing), ...rest })
  }

  /** Delivers, and moves the time on until the answer must be there. */
  async sendFor(ms: number, ...sending: Parameters<Bench['send']>): Promise<Outcome> {
    const sent = this.send(...sending)
    await this.clock.advance(ms)
    return sent
  }

  /** Leaves work behind at the end of the test. */
  leave(): void {
    benches.delete(this)
  }

  get codes(): readonly string[] {
    return this.errors.map(({ code }) => code)
  }

  /** Expects that nothing is left: no run, no timer. Each test of a file with `watchRejections` ends with it. */
  async expectAtRest(): Promise<void> {
    const closing = this.receiver.close({ timeoutMs: 0 })
    await this.clock.advance(0)
    expect(await closing).toEqual({ unfinished: 0 })
    expect(this.clock.pending).toBe(0)
  }
}

/** A bench with a handler for every event, which counts its runs. */
export function counting(options: ConstructorParameters<typeof Bench>[0] = {}) {
  const bench = new Bench(options)
  let runs = 0
  bench.receiver.on('*', () => void runs++)
  return { bench, runs: () => runs }
}

/** A bench whose handler of contacts waits for a gate. */
export function gated(options: ConstructorParameters<typeof Bench>[0] = {}) {
  const bench = new Bench(options)
  const gate = new Gate<unknown>()
  const runs: string[] = []
  const signals: AbortSignal[] = []
  bench.receiver.on('contact.*', { name: 'slow' }, ({ id }, { signal }) => {
    runs.push(id)
    signals.push(signal)
    return gate.promise
  })
  return { bench, gate, runs, signals }
}

/** A request in the form in which an adapter passes an HTTP request. */
export function request(
  event: WebhookEvent<string, unknown> | string | Uint8Array,
  overrides: Partial<DeliveryRequest> & {
    readonly headers?: Readonly<Record<string, HeaderValue>>
    readonly options?: Partial<SignedOptions>
  } = {},
): DeliveryRequest & { readonly wasRead: () => boolean } {
  const { headers, options, ...rest } = overrides
  const { body: bytes, headers: made } = signed(event, { secret: SECRET, ...options })
  const all: Readonly<Record<string, HeaderValue>> = { ...made, 'content-length': String(bytes.length), ...headers }
  let wasRead = false
  return {
    method: 'POST',
    header: (name) => all[name],
    read: () => {
      wasRead = true
      return bytes
    },
    ...rest,
    wasRead: () => wasRead,
  }
}

/** Fails each test of the file that leaves a rejection without a handler, or a receiver that is not at rest. */
export function watchRejections(): void {
  const rejections: unknown[] = []
  const keep = (reason: unknown) => rejections.push(reason)
  beforeEach(() => {
    rejections.length = 0
    benches.clear()
    process.on('unhandledRejection', keep)
  })
  afterEach(async () => {
    for (const bench of benches) await bench.expectAtRest()
    await settle()
    process.off('unhandledRejection', keep)
    expect(rejections).toEqual([])
  })
}

/** Returns the error that a call throws, which must be an error of configuration. */
export function failure(call: () => unknown): ConfigurationError {
  try {
    call()
  } catch (error) {
    if (error instanceof ConfigurationError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

/** Expects a call to throw an error of configuration with this code, whose message has this text. */
export function expectRefusal(call: () => unknown, code: string, text = ''): void {
  expect(failure(call)).toMatchObject({ code, message: expect.stringContaining(text) })
}

/** Claims an event for another process. */
export const claimElsewhere = (bench: Bench, { id }: { readonly id: string }, leaseMs = 60_000) =>
  bench.store.inner.claim(`7:default4:acme${id.length}:${id}`, leaseMs)

/** Returns a function that throws this value. */
export function raise(thrown: unknown): () => never {
  return () => {
    throw thrown
  }
}

/** An object that calls itself a promise. */
export function thenable(
  then: (resolve: (value?: unknown) => void, reject: (error?: unknown) => void) => unknown,
): object {
  return Object.defineProperty({}, 'then', { value: then })
}
