import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { onTestFinished, vi } from 'vitest'
import type { Counting, Loss, Scene, Verdict } from '../../tools/check/case.ts'
import { CASES } from '../../tools/check/cases.ts'
import { createScene, type SceneOptions } from '../../tools/check/scene.ts'
import { capAt, toReason } from '../../tools/check/verdict.ts'
import { listen } from '../adapters/http/hosts.ts'
import { SECRET } from './faulty/hand-written.ts'

/** Options of a run that waits for nothing but its receiver. */
export const OPTIONS: Omit<SceneOptions, 'target'> = {
  secret: SECRET,
  accountKey: 'acme',
  timeoutMs: 60_000,
  patienceMs: 10_000,
  probe: undefined,
  signal: undefined,
}

/** An answer by its status alone or with `Retry-After`, an end of the connection, or nothing. */
export type Step = number | 'cut' | 'never' | readonly [status: number, retryAfter: string]

/** A request that has arrived. */
interface Seen {
  readonly at: number
  readonly port: number | undefined
  readonly method: string | undefined
  readonly headers: IncomingMessage['headers']
  body: string
}

/** Lets the time limits of deliveries end by events instead of by time, however slow the machine is. */
export function holdLimits() {
  const limits: AbortController[] = []
  let hanging = 0
  vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
    const limit = new AbortController()
    limits.push(limit)
    return limit.signal
  })
  /** Ends the limits of all deliveries under way. */
  const end = () => {
    hanging = 0
    for (const limit of limits.splice(0)) limit.abort(new DOMException('The limit is over.', 'TimeoutError'))
  }
  return {
    end,
    /** Leaves the limit of one delivery out, which gets an answer. */
    answer: () => void limits.shift(),
    /** Lets one delivery hang. Once all deliveries under way hang, their limits end. */
    hang: () => void (++hanging === limits.length && end()),
  }
}

/** A scene whose receiver answers in this order, and all further requests like the last; with the requests that it got. */
export async function play(steps: readonly Step[], options: Partial<SceneOptions> = {}) {
  const seen: Seen[] = []
  const limits = steps.includes('never') ? holdLimits() : undefined
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const step = steps[Math.min(seen.length, steps.length - 1)] ?? 500
    const { method, headers, socket } = request
    const one: Seen = { at: performance.now(), port: socket.remotePort, method, headers, body: '' }
    seen.push(one)
    one.body = await text(request)
    if (step === 'never') return limits?.hang()
    limits?.answer()
    if (step === 'cut') socket.destroy()
    else if (typeof step === 'number') response.writeHead(step).end()
    else response.writeHead(step[0], { 'retry-after': step[1] }).end()
  }
  const { port, close } = await listen(createServer(answer))
  onTestFinished(close)
  const scene = createScene({ target: new URL(`http://127.0.0.1:${port}/`), ...OPTIONS, ...options })
  return { scene, seen, send: () => scene.send(scene.make.delivery(scene.make.event())) }
}

/** Writes a verdict without the times, which differ. */
export function showVerdict(verdict: Verdict): string {
  return `${verdict.status}: ${toReason(verdict).replaceAll(/ after \d+ ms/g, '')}`
}

/** Runs a check of several deliveries in a scene. */
export async function runIn(scene: Scene, id: string): Promise<Verdict> {
  const single = CASES.find((each) => each.id === id)
  if (single === undefined || !('run' in single)) throw new Error(`${id} does not run in a scene`)
  return capAt(single.level, await single.run(scene))
}

/** Makes the result of a count that found these types, and no loss. */
export function countingOf(types: readonly string[], losses: readonly Loss[] = []): Counting {
  return { sent: Promise.resolve(), types: Promise.resolve(types), losses: Promise.resolve(losses) }
}

/** Runs a check with a probe that returns these numbers in turn, and the last one from then on; waits are listed, and hardly take place. */
export async function judgeEffect(id: string, steps: readonly Step[], runs: readonly number[]) {
  const asked: string[] = []
  const failing: (readonly [id: string, requests: number])[] = []
  const waits: number[] = []
  const { scene, seen } = await play(steps, { patienceMs: 120 })
  const probe = {
    async runs(event: string) {
      asked.push(event)
      return runs[Math.min(asked.length, runs.length) - 1] ?? 0
    },
    async fail(event: string) {
      failing.push([event, seen.length])
    },
  }
  const wait = async (ms: number) => {
    waits.push(ms)
    await scene.wait(2)
  }
  const verdict = await runIn({ ...scene, probe, wait, counting: () => countingOf(['contact.created']) }, id)
  const events = seen.map(({ body }) => JSON.parse(body))
  return { verdict, seen, events, asked, failing, waits }
}
