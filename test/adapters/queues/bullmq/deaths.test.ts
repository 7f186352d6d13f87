import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createReceiver, sign, type WebhookEvent } from 'postern'
import { bullmqInbox } from 'postern/bullmq'
import { events } from 'postern/testing'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { BACKENDS, serverFor } from './backends.ts'

const WORKER = fileURLToPath(new URL('inbox-worker.ts', import.meta.url))
const SECRET = 'whsec_worker'
const folder = mkdtempSync(join(tmpdir(), 'postern-bullmq-'))
const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(() => rmSync(folder, { recursive: true }))

/** What a record says, the process does. */
function makeEvent(record: Readonly<Record<string, unknown>>): WebhookEvent<string, unknown> {
  return { ...events.contact.created(), data: { record: { _id: 'c1', ...record } } }
}

describe.each(BACKENDS)('bullmqInbox on %s, and processes that die', (name, start) => {
  const server = serverFor(start)
  const log = join(folder, `${name}.log`)

  /** The inbox, as the process sees it that accepts. */
  function open() {
    const inbox = bullmqInbox({ connection: server().url })
    const receiver = createReceiver({ secret: SECRET, inbox, logger: { debug() {}, info() {}, warn() {}, error() {} } })
    receiver.on('*', () => {})
    const deliver = async (event: WebhookEvent<string, unknown>) => {
      const body = Buffer.from(JSON.stringify(event))
      expect(await receiver.receive({ body, signature: sign(body, SECRET) })).toMatchObject({ outcome: 'accepted' })
    }
    /** Of one look: what stops running and waits again between two would be in neither. */
    const isEmpty = async () => {
      const { waiting, running } = await inbox.counts()
      return waiting + running === 0
    }
    // Postgres counts one state after another, and passes over an item that changes its state meanwhile.
    const isWorkedOff = async () => (await isEmpty()) && (await sleep(50, true)) && (await isEmpty())
    return { inbox, deliver, isWorkedOff, [Symbol.asyncDispose]: () => inbox.close() }
  }

  function runsOf({ id }: { readonly id: string }): readonly { readonly pid: number; readonly beside: number }[] {
    if (!existsSync(log)) return []
    const lines = readFileSync(log, 'utf8').trim().split('\n')
    return lines.map((line) => JSON.parse(line)).filter(({ event }) => event === id)
  }

  async function startWorker(concurrency = 10): Promise<ChildProcess> {
    const argv = [server().url, log, String(concurrency)]
    const child = fork(WORKER, argv, { execArgv: ['--import', 'tsx'], silent: true })
    children.push(child)
    await once(child, 'message')
    return child
  }

  /** Starts a process again whenever one dies, as a supervisor does, until something is so. */
  async function supervise(isDone: () => Promise<boolean>): Promise<number> {
    const end = performance.now() + 90_000
    let deaths = 0
    let child = await startWorker()
    while (!(await isDone()) && performance.now() < end) {
      if (child.signalCode !== null) {
        deaths++
        child = await startWorker()
      }
      await sleep(50)
    }
    return deaths
  }

  it('gives back what a killed process ran, and it is handled', async () => {
    await using opened = open()
    const sent = makeEvent({ ms: 1_500 })
    await opened.deliver(sent)
    const first = await startWorker()
    while (runsOf(sent).length === 0) await sleep(10)
    first.kill('SIGKILL')
    await startWorker()
    while (!(await opened.isWorkedOff())) await sleep(50)
    expect(runsOf(sent)).toHaveLength(2)
    expect((await opened.inbox.counts()).dead).toBe(0)
  }, 60_000)

  it('gives each event to one of several processes, one of which is killed', async () => {
    await using opened = open()
    const sent = Array.from({ length: 200 }, () => makeEvent({ ms: 20 }))
    await Promise.all(sent.map(opened.deliver))
    const [first] = await Promise.all([startWorker(5), startWorker(5), startWorker(5)])
    while (sent.filter((event) => runsOf(event).length > 0).length < 30) await sleep(10)
    first?.kill('SIGKILL')
    while (!(await opened.isWorkedOff())) await sleep(50)
    const runs = sent.map((event) => runsOf(event).length)
    expect(Math.min(...runs)).toBe(1)
    expect(Math.max(...runs)).toBeLessThanOrEqual(2)
    expect(runs.filter((count) => count === 2).length).toBeLessThanOrEqual(5)
  }, 60_000)

  it('runs on with what it has when it stood still for longer than its lease, and settles it', async () => {
    await using opened = open()
    const sent = makeEvent({ ms: 1_000 })
    await opened.deliver(sent)
    const worker = await startWorker()
    while (runsOf(sent).length === 0) await sleep(10)
    worker.kill('SIGSTOP')
    await sleep(4_000)
    worker.kill('SIGCONT')
    while (!(await opened.isWorkedOff())) await sleep(50)
    expect(runsOf(sent)).toHaveLength(1)
    expect((await opened.inbox.counts()).dead).toBe(0)
    expect(worker.exitCode).toBeNull()
  }, 60_000)

  it('takes from a process that stands still what it ran, which changes nothing more when it goes on', async () => {
    await using opened = open()
    const sent = makeEvent({ ms: 1_000 })
    await opened.deliver(sent)
    const worker = await startWorker()
    while (runsOf(sent).length === 0) await sleep(10)
    worker.kill('SIGSTOP')
    await startWorker()
    while (!(await opened.isWorkedOff())) await sleep(50)
    expect(runsOf(sent)).toHaveLength(2)
    worker.kill('SIGCONT') // its run ends now, and its lock is no more
    await sleep(1_500)
    await opened.deliver(makeEvent({}))
    while (!(await opened.isWorkedOff())) await sleep(50)
    expect(runsOf(sent)).toHaveLength(2)
    expect(worker.exitCode).toBeNull()
    expect((await opened.inbox.counts()).dead).toBe(0)
  }, 60_000)

  it('makes a dead letter of what kills three processes while it is alone, and of nothing else', async () => {
    await using opened = open()
    const innocent = Array.from({ length: 9 }, () => makeEvent({ ms: 300 }))
    const killer = makeEvent({ isKiller: true })
    for (const event of [...innocent, killer]) await opened.deliver(event)
    const deaths = await supervise(opened.isWorkedOff)
    const { entries } = await opened.inbox.list('dead')
    expect(entries).toMatchObject([{ id: killer.id, deaths: 3 }])
    expect(entries[0]?.tries.at(-1)).toMatchObject({ code: 'crashed' })
    expect(deaths).toBeLessThanOrEqual(5)
    // Whatever ran beside it at first, it was alone after that.
    expect(
      runsOf(killer)
        .slice(1)
        .map(({ beside }) => beside),
    ).toEqual([0, 0, 0])
    for (const event of innocent) expect(runsOf(event).length).toBeGreaterThan(0)
  }, 120_000)
})
