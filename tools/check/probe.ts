import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text as readText } from 'node:stream/consumers'
import { isObject } from '../../src/protocol/envelope.ts'
import { FILLED_TEXT, HTTP_URL, OptionChecker } from '../../src/protocol/option-checker.ts'
import { parseJson } from '../../src/protocol/parse-json.ts'
import { show } from '../../src/protocol/show.ts'
import { toConnectionFailure } from '../wire/connection-failure.ts'

const COMMAND_TIMEOUT_MS = 10_000
/** Longer than a busy receiver takes: a probe that does not answer is no fault of it. */
const URL_TIMEOUT_MS = 30_000

/** True if a command can run as a process group, so that all its processes end together. */
const HAS_GROUPS = process.platform !== 'win32'

/** Access to the work of the receiver, provided by its owner for the checker. */
export interface Probe {
  /** Returns how often the work of this event id has been completed. */
  runs(id: string): Promise<number>
  /** Makes the next run of the work of this event id fail. */
  fail(id: string): Promise<void>
}

/**
 * Creates a probe over HTTP: `GET url?id=…` returns `{ "runs": n }`, and `POST url?id=…&fail=1` makes the next run fail. Rejects on
 * any other answer.
 */
export function urlProbe(url: string | URL): Probe {
  new OptionChecker('urlProbe').mustBe('url', url, HTTP_URL)
  const ask = async (word: keyof Probe, id: string, isRepeated = word === 'fail'): Promise<string> => {
    const question = new URL(url)
    question.searchParams.set('id', id)
    if (word === 'fail') question.searchParams.set('fail', '1')
    const init = {
      method: word === 'fail' ? 'POST' : 'GET',
      redirect: 'error',
      signal: AbortSignal.timeout(URL_TIMEOUT_MS),
    } as const
    const response = await fetch(question, init).catch((error: Error) => {
      // The error says only "fetch failed"; its cause has the reason.
      const { kind, text } = toConnectionFailure(error.cause instanceof Error ? error.cause : error)
      // The receiver may have closed a connection that was idle, at the moment when it was used again.
      if (kind === 'reset' && !isRepeated && error.name !== 'TimeoutError') return undefined
      throw new Error(`the probe did not answer: ${text}`, { cause: error })
    })
    if (response === undefined) return ask(word, id, true)
    if (!response.ok) throw new Error(`the probe answered ${response.status}`)
    return response.text()
  }
  return toProbe(ask)
}

/** Creates a probe that runs a shell command with `runs ID` or `fail ID`; for `runs`, it prints the number or `{ "runs": n }`. */
export function commandProbe(command: string): Probe {
  new OptionChecker('commandProbe').mustBe('command', command, FILLED_TEXT)
  const ask = async (word: keyof Probe, id: string) => {
    // Some ids end in a space; none holds a character that is special within these quotes.
    const child = spawn(`${command} ${word} "${id}"`, {
      shell: true,
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: HAS_GROUPS,
    })
    const [output, code] = await Promise.all([readText(child.stdout), waitFor(child)])
    if (code !== 0) throw new Error(`the probe command ended with code ${code}`)
    return output
  }
  return toProbe(ask)
}

function toProbe(ask: (word: keyof Probe, id: string) => Promise<string>): Probe {
  return {
    runs: async (id) => readRuns(await ask('runs', id)),
    fail: async (id) => void (await ask('fail', id)),
  }
}

/** Waits until the command has ended, and returns its exit code. If it takes too long, ends it and rejects. */
async function waitFor(child: ChildProcess): Promise<unknown> {
  const timeout = AbortSignal.timeout(COMMAND_TIMEOUT_MS)
  try {
    const [code] = await once(child, 'close', { signal: timeout })
    return code
  } catch (error) {
    if (!timeout.aborted) throw error
    if (HAS_GROUPS && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    else child.kill('SIGKILL')
    child.stdout?.destroy()
    throw new Error(`the probe command did not end within ${COMMAND_TIMEOUT_MS / 1_000} s`, { cause: error })
  }
}

function readRuns(output: string): number {
  const value = parseJson(output)
  const runs = isObject(value) ? value.runs : value
  if (runs === undefined || runs === null) throw new Error('the probe returned neither a number nor { "runs": n }')
  return toCount(runs)
}

/** Wraps a probe of the owner's code. A count in another form, as databases return it, would accuse the receiver. */
export function withCounts(probe: Probe): Probe {
  return { runs: async (id) => toCount(await probe.runs(id)), fail: (id) => probe.fail(id) }
}

function toCount(runs: unknown): number {
  if (typeof runs === 'number' && runs >= 0) return runs
  throw new Error(`the probe returned ${show(runs)}, not a number`)
}
