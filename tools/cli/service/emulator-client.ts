import { Readable } from 'node:stream'
import type { Command } from 'commander'
import type * as z from 'zod'
import { isObject } from '../../../src/protocol/envelope.ts'
import { parseJson } from '../../../src/protocol/parse-json.ts'
import { state, streamMessage } from '../../emulator/contract.ts'
import { DEFAULT_PORT } from '../input/emulator-options.ts'
import { type EnvOptions, readVariables } from '../input/env-file.ts'
import { readUrl } from '../input/read-option.ts'
import { ExitError, type Io } from '../io.ts'
import { toPrintable } from '../output/print-table.ts'
import { showProgress } from '../output/progress-line.ts'

/** Variable for the address of the service, or of an emulator. */
export const BASE_URL = 'POSTERN_BASE_URL'

export const EMULATOR_URL = `http://127.0.0.1:${DEFAULT_PORT}`

export type EmulatorState = z.output<typeof state>

interface CallSettings {
  readonly body?: object
  /** Default: Ctrl-C ends it. */
  readonly signal?: AbortSignal
  readonly withinMs?: number
}

/** Emulator in another process. Each call ends the command if the emulator refuses it, or is not there. */
export type EmulatorClient = ReturnType<typeof createEmulatorClient>

export interface EmulatorUrlOptions extends EnvOptions {
  readonly emulator?: string
}

export function addEmulatorUrl(command: Command): Command {
  return command.option('--emulator <url>', `the emulator; else ${BASE_URL} says it (default: ${EMULATOR_URL})`)
}

const ANSWER_WITHIN_MS = 10_000
/** Number of characters of a refusal to show. */
const MAX_MESSAGE = 500

export async function connectToEmulator(options: EmulatorUrlOptions, io: Io): Promise<EmulatorClient> {
  const variable = (await readVariables(options, io))[BASE_URL] || undefined
  const given = options.emulator ?? variable ?? EMULATOR_URL
  // The emulator may run in another container.
  const url = readUrl(given, options.emulator === undefined ? BASE_URL : '--emulator', EMULATOR_URL)
  const text = `waiting for an answer of ${url.origin}`
  const end = showProgress(io, () => ({ text, record: { waitsFor: url.origin } }))
  const isThere = await isEmulator(url, io.interrupt).finally(end)
  if (isThere) return createEmulatorClient(url, io.interrupt)
  io.interrupt.throwIfAborted()
  const source = options.emulator === undefined && variable !== undefined ? ` (${BASE_URL})` : ''
  throw new ExitError('unreachable', `No emulator answers at ${url.origin}${source}.`, { fix: START })
}

export async function isEmulator(url: URL, signal: AbortSignal, withinMs = ANSWER_WITHIN_MS): Promise<boolean> {
  try {
    const ready: unknown = await (await send(url, 'GET ready', { signal, withinMs })).json()
    return isObject(ready) && ready.type === 'ready'
  } catch {
    return false
  }
}

const START = `Start one in another terminal:
  npx postern dev --forward http://localhost:3000/webhooks --env .env.local
or name it with --emulator URL; trigger also sends straight to a receiver, with --to URL.`

function createEmulatorClient(url: URL, interrupt: AbortSignal) {
  /** Calls a route below `/_emulator/`, such as `GET clock`, and checks the JSON of its answer. */
  const call = async <Answer extends z.ZodType>(
    line: string,
    answer: Answer,
    { signal = interrupt, ...settings }: CallSettings = {},
  ) => {
    const response = await send(url, line, { ...settings, signal })
    const text = await response.text().catch((cause: unknown) => {
      signal.throwIfAborted()
      throw goneFrom(url, cause)
    })
    return read(answer, parseJson(text), url)
  }
  return {
    url: url.origin,
    call,
    readState: (settings?: CallSettings) => call('GET state', state, settings),
    /** Yields messages until the emulator ends. Rejects with the signal's reason. */
    async *listen(signal: AbortSignal) {
      const { body } = await send(url, 'GET stream', { signal, withinMs: Number.POSITIVE_INFINITY })
      if (body === null) return
      try {
        for await (const line of splitLines(Readable.fromWeb(body)))
          if (line.startsWith('data: ')) yield read(streamMessage, parseJson(line.slice(6)), url)
      } catch (error) {
        signal.throwIfAborted()
        throw error instanceof ExitError ? error : goneFrom(url, error)
      }
    },
  }
}

async function send(
  url: URL,
  line: string,
  { body, signal, withinMs = ANSWER_WITHIN_MS }: CallSettings & { readonly signal: AbortSignal },
) {
  const [method = '', path] = line.split(' ')
  const timeout = Number.isFinite(withinMs) ? [AbortSignal.timeout(withinMs)] : []
  const response = await fetch(new URL(`/_emulator/${path}`, url), {
    method,
    signal: AbortSignal.any([...timeout, signal]),
    redirect: 'error',
    ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  }).catch((cause: unknown) => {
    signal.throwIfAborted()
    throw goneFrom(url, cause)
  })
  if (response.ok) return response
  const text = await response.text().catch(() => '')
  const answer = parseJson(text)
  const message = isObject(answer) && typeof answer.message === 'string' ? answer.message : text
  // 404 to a POST is a misspelt account.
  const isAbsent = response.status === 404 && method !== 'POST'
  throw new ExitError(
    isAbsent ? 'failed' : 'usage',
    `The emulator refused: ${toPrintable(message.slice(0, MAX_MESSAGE)) || `it answered ${response.status}`}`,
  )
}

async function* splitLines(parts: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const part of parts) {
    const lines = (rest + decoder.decode(part, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

function goneFrom(url: URL, cause: unknown): ExitError {
  return new ExitError('unreachable', `The emulator at ${url.origin} no longer answers.`, { cause })
}

function read<Answer extends z.ZodType>(answer: Answer, value: unknown, { origin }: URL): z.output<Answer> {
  const { success, data } = answer.safeParse(value)
  if (success) return data
  throw new ExitError('unreachable', `The server at ${origin} is not an emulator, or one of another version.`)
}
