import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Emulator, type EmulatorOptions, startEmulator } from 'postern/emulator'
import { openSqlite, type SqliteDatabase } from 'postern/sqlite'
import { silentLogger } from 'postern/testing'
import { expect, onTestFinished } from 'vitest'
import { checkEmulatorOptions } from '../../tools/emulator/options.ts'
import { createService, type Service } from '../../tools/emulator/service.ts'

export const quiet = { ...silentLogger, error: console.error }

/** An emulator on a manual clock, which ends with the test. */
export async function start(options: EmulatorOptions = {}): Promise<Emulator> {
  const emulator = await startEmulator({ clock: 'manual', logger: quiet, ...options })
  onTestFinished(() => emulator.close())
  return emulator
}

/** The service without HTTP, on a manual clock, which ends with the test. */
export function makeService(options: EmulatorOptions = {}): Service {
  const service = createService(checkEmulatorOptions({ clock: 'manual', format: 'compact', logger: quiet, ...options }))
  onTestFinished(() => service.close())
  return service
}

/** Matches a refusal of this kind that tells this. */
export const refusal = (kind: string, told = '') =>
  expect.objectContaining({ kind, message: expect.stringContaining(told) })

/** The first user of the first account. */
export const ADA = { email: 'ada@acme.test', password: 'password' }

/** An answer of the emulator. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; undefined if it is not JSON. */
  readonly json: unknown
}

export interface Call {
  readonly token?: string | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** One call over HTTP, or in the process if the emulator has no port. */
export async function call(
  emulator: Pick<Emulator, 'url'> & Partial<Pick<Emulator, 'fetch'>>,
  line: string,
  { token, body, headers }: Call = {},
): Promise<Answer> {
  const [method = 'GET', path = '/'] = line.split(' ')
  const send = emulator.url === 'http://emulator.localhost' ? (emulator.fetch ?? fetch) : fetch
  const request = new Request(emulator.url + path, {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const response = await send(request)
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: parse(text) }
}

/** Finds text anywhere in JSON. */
export function pick(json: unknown, ...path: readonly (string | number)[]): string {
  return String(path.reduce<unknown>((value, key) => Object(value)[key], json))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A request that a receiver got. */
interface Received {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
  /** The time by the emulator's clock, in milliseconds. */
  readonly at: number
}

export interface Sink {
  readonly url: string
  readonly received: Received[]
  /** The answers: the statuses in turn, the last one repeatedly; 0 for no answer at all. */
  answers: number[]
}

/** A receiver that records its requests. */
export async function sink(clock: { now(): number } = Date, ...answers: readonly number[]): Promise<Sink> {
  const received: Received[] = []
  const state: Sink = { url: '', received, answers: answers.length > 0 ? [...answers] : [200] }
  const server = await serve((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { method, url, headers, rawHeaders } = request
      received.push({ method, url, headers, rawHeaders, body: Buffer.concat(parts), at: clock.now() })
      const [status = 200] = state.answers
      if (state.answers.length > 1) state.answers.shift()
      if (status !== 0) response.writeHead(status, { location: '/elsewhere' }).end('noted')
    })
  })
  return Object.assign(state, { url: `${server.url}/webhooks` })
}

/** A new SQLite database, in memory by default, which is closed with the test. */
export function makeDatabase(file = ':memory:'): SqliteDatabase {
  const database = openSqlite(file)
  onTestFinished(async () => database.close())
  return database
}

/** A new folder, which is deleted with the test. */
export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'postern-emulator-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Any server on loopback, which ends with the test. */
export async function serve(listener: RequestListener): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address')
  return { url: `http://127.0.0.1:${address.port}`, server }
}

export async function until(isTrue: () => boolean, withinMs = 15_000): Promise<void> {
  for (const end = Date.now() + withinMs; !isTrue(); ) {
    if (Date.now() > end) throw new Error('waited in vain')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
