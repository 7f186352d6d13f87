import { createServer, type OutgoingHttpHeaders, type RequestListener } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  createReceiver,
  memoryStore,
  type Outcome,
  type PosternError,
  type Receiver,
  type ReceiverOptions,
} from 'postern'
import { events, signed, type Tamper } from 'postern/testing'
import { expect, onTestFinished } from 'vitest'
import { type Host, type HostOptions, listen } from './hosts.ts'
import { type Answer, exchange, type Headers, head } from './wire.ts'

export const SECRET = 'a secret that nobody else has'

/** A receiver behind a host, and everything that a test can observe of the two. */
export interface Scene {
  readonly port: number
  readonly receiver: Receiver
  /** The number of the handler's runs, by event id. */
  readonly runs: ReadonlyMap<string, number>
  /** Calls of the store: none for refused deliveries. */
  readonly storeCalls: () => number
  readonly outcomes: readonly Outcome[]
  readonly errors: readonly PosternError[]
  /** Log lines above debug, as one text. */
  readonly log: () => string
}

type Options = Partial<ReceiverOptions<Record<string, never>, Record<string, never>>>

/** Makes a receiver whose handler counts its runs and does `work`. */
export function createScene(options: Options = {}, work: (id: string) => unknown = () => {}): Omit<Scene, 'port'> {
  const runs = new Map<string, number>()
  const outcomes: Outcome[] = []
  const errors: PosternError[] = []
  const lines: string[] = []
  const note = (fields: object, message: string) => lines.push(`${message} ${JSON.stringify(fields)}`)
  const inner = memoryStore()
  let storeCalls = 0
  const receiver: Receiver = createReceiver({
    secret: SECRET,
    store: {
      retentionMs: inner.retentionMs,
      claim: (...claim) => {
        storeCalls++
        return inner.claim(...claim)
      },
      renew: inner.renew.bind(inner),
      complete: inner.complete.bind(inner),
      release: inner.release.bind(inner),
    },
    logger: { debug: () => {}, info: note, warn: note, error: note },
    onOutcome: (outcome) => outcomes.push(outcome),
    onError: (error) => errors.push(error),
    ...options,
  })
  receiver.on('*', (event) => {
    runs.set(event.id, (runs.get(event.id) ?? 0) + 1)
    return work(event.id)
  })
  return { receiver, runs, outcomes, errors, log: () => lines.join('\n'), storeCalls: () => storeCalls }
}

/** Puts the receiver behind a host on a free port, until the test ends. */
export async function startScene(
  host: Host,
  options?: Options,
  work?: (id: string) => unknown,
  hostOptions?: HostOptions,
): Promise<Scene> {
  const scene = createScene(options, work)
  const { port, close } = await host.start(scene.receiver, hostOptions)
  onTestFinished(async () => {
    await close()
    await scene.receiver.close({ timeoutMs: 0 }) // nothing is left to be written
  })
  return { ...scene, port }
}

/** Puts an app on a free port until the test ends, and returns the port. */
export async function serve(app: RequestListener): Promise<number> {
  const { port, close } = await listen(createServer(app))
  onTestFinished(close)
  return port
}

/** Returns a function that collects garbage. */
export function exposeGc(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') // the flag adds it
}

/** The parts of a delivery for a raw request. */
export interface Sample {
  readonly id: string
  readonly bytes: Buffer
  /** Signature, type and length. */
  readonly headers: Headers
}

/** Makes a valid delivery, or one with a single fault. */
export function sample({ id = `evt_${++count}`, tamper = 'none' }: { id?: string; tamper?: Tamper } = {}): Sample {
  return { ...sampleOf(events.contact.created({ firstName: 'Zoë 🚪' }, { id }), tamper), id }
}

/** Signs raw text or bytes as they are. */
export function sampleOf(event: Parameters<typeof signed>[0], tamper: Tamper = 'none'): Sample {
  const { body: bytes, headers } = signed(event, { secret: SECRET, tamper })
  return { id: '', bytes: Buffer.from(bytes), headers: { ...headers, 'content-length': bytes.length } }
}

let count = 0

/** Returns the headers without the declared length, for chunked bodies. */
export function withoutLength({ 'content-length': _, ...headers }: Headers): Headers {
  return { ...headers, 'transfer-encoding': 'chunked' }
}

/** Returns the headers for Node's own client, which writes to the lists that it gets. */
export function toOutgoing(headers: Headers): OutgoingHttpHeaders {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'object' ? [...value] : value]),
  )
}

/** Sends one delivery over its own connection. */
export function deliver(
  { port }: Pick<Scene, 'port'>,
  { bytes, headers }: Sample,
  extra: Headers = {},
  target = '/webhooks',
): Promise<Answer> {
  return exchange(port, Buffer.concat([Buffer.from(head({ ...headers, ...extra }, { target })), bytes]))
}

/** Expects that a new delivery is handled. */
export async function expectHandled(
  scene: Pick<Scene, 'port'>,
  { headers, target }: { readonly headers?: Headers; readonly target?: string } = {},
): Promise<void> {
  const delivery = sample()
  expectAnswer(await deliver(scene, delivery, headers, target), 200, 'handled', delivery.id)
}

/** Expects the whole answer: a status, a code word, and the id only if the signature was valid. */
export function expectAnswer(answer: Answer, status: number, code: string, id?: string): void {
  expect({ status: answer.status, body: answer.body }).toEqual({
    status,
    body: JSON.stringify(id === undefined ? { code } : { code, id }),
  })
  expect(answer.headers['content-type']).toMatch(/^application\/json(; ?charset=utf-8)?$/)
}

/** Expects that nothing ran, and that the store was never called. */
export function expectUntouched({ runs, storeCalls }: Pick<Scene, 'runs' | 'storeCalls'>): void {
  expect(runs.size).toBe(0)
  expect(storeCalls()).toBe(0)
}
