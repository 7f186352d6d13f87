import { createServer, type RequestListener, type Server } from 'node:http'
import { createReceiver } from 'postern'
import { type CheckOptions, checkReceiver, type Report, urlProbe } from 'postern/check'
import { silentLogger } from 'postern/testing'
import { expect } from 'vitest'
import { type Host, listen } from '../adapters/http/hosts.ts'
import { HandWritten, SECRET } from './faulty/hand-written.ts'

/** Returns the ids of the checks with this status, and their messages. */
export function told(report: Report, ...statuses: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    report.checks.filter(({ status }) => statuses.includes(status)).map(({ id, reason }) => [id, reason]),
  )
}

/** Expects no failure and no warning. */
export function mustBeSound(report: Report): void {
  expect(told(report, 'fail', 'warn')).toEqual({})
}

/** Runs the checks against a receiver, without a probe. */
export async function checkAt(receiver: HandWritten | Server | RequestListener, options: Partial<CheckOptions> = {}) {
  const server = receiver instanceof HandWritten ? receiver.createServer() : receiver
  const { port, close } = await listen(typeof server === 'function' ? createServer(server) : server)
  const url = `http://127.0.0.1:${port}/webhooks`
  // A busy machine takes long for an answer.
  const given = { secret: SECRET, timeoutMs: 60_000, patienceMs: 200, ...options }
  return { url, report: await checkReceiver(url, given).finally(close) }
}

/** Runs the checks against a receiver, with its own probe. */
export async function judge(receiver: HandWritten, options: Partial<CheckOptions> = {}): Promise<Report> {
  const { port, close } = await listen(receiver.createServer())
  const probe = urlProbe(new URL(`http://127.0.0.1:${port}/probe`))
  const given = { secret: SECRET, probe, patienceMs: 2_000, timeoutMs: 60_000, ...options }
  return checkReceiver(`http://127.0.0.1:${port}/webhooks`, given).finally(close)
}

/** Work that can be made to fail, and the server of its probe. */
export async function startProbe() {
  const runs = new Map<string, number>()
  const failing = new Set<string>()
  const server = createServer((request, response) => {
    const id = new URL(request.url ?? '', 'http://localhost').searchParams.get('id') ?? ''
    if (request.method === 'POST') failing.add(id)
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ runs: runs.get(id) ?? 0 }))
  })
  const { port, close } = await listen(server)
  const work = (id: string) => {
    if (failing.delete(id)) throw new Error('the probe asked for it')
    runs.set(id, (runs.get(id) ?? 0) + 1)
  }
  return { work, probe: urlProbe(new URL(`http://127.0.0.1:${port}/probe`)), close }
}

/** Runs all checks against a receiver of this library behind a host, and expects every one to pass. */
export async function judgeOwn(host: Host, atEnd: (close: () => Promise<void>) => void): Promise<void> {
  const { work, probe, close: closeProbe } = await startProbe()
  atEnd(closeProbe)
  const receiver = createReceiver({ secret: SECRET, logger: silentLogger }).on('*', ({ id }) => work(id))
  const { port, close } = await host.start(receiver)
  atEnd(close)
  const url = `http://127.0.0.1:${port}/webhooks`
  const report = await checkReceiver(url, { secret: SECRET, probe })
  // A busy machine may be too late for the receiver's own time limits, but not for the same ones twice.
  const found = Object.keys(told(report, 'fail', 'warn'))
  if (found.length > 0) return mustBeSound(await checkReceiver(url, { secret: SECRET, probe, only: found }))
  expect(report.summary).toEqual({ pass: report.checks.length, fail: 0, warn: 0, info: 0, skipped: 0 })
}
