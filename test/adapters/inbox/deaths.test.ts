import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { WebhookEvent } from 'postern'
import { events } from 'postern/testing'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { serverFor } from '../../engines/server-for.ts'
import { bundle } from '../../support/bundle.ts'
import { makeTestFolder } from '../../support/test-folder.ts'
import { makeScene } from '../inbox-scene.ts'
import { ENGINES } from './engines.ts'

const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url))

/** The processes that a failed test has left. */
const running = new Set<ChildProcess>()
afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts a worker with its arguments, and waits until it is ready. */
async function startWorker(...args: readonly string[]): Promise<ChildProcess> {
  const child = fork(await bundle(WORKER), args, {
    execArgv: ['--unhandled-rejections=strict', '--no-warnings'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  running.add(child)
  const stderr = child.stderr === null ? '' : text(child.stderr)
  const closed = once(child, 'close').then(() => running.delete(child))
  const isReady = await Promise.race([once(child, 'message').then(() => true), closed.then(() => false)])
  if (!isReady) throw new Error(`a worker did not start: ${await stderr}`)
  return child
}

/** The instruction of a record, which the worker carries out. */
function makeEvent(record: Readonly<Record<string, unknown>>): WebhookEvent<string, unknown> {
  return { ...events.contact.created(), data: { record: { _id: 'c1', ...record } } }
}

// The suite of inboxes and the chaos runs show the same on SQLite.
describe.each(ENGINES)('an inbox on $name, and processes that die', ({ name, start, open }) => {
  const server = serverFor(start)

  function openScene() {
    const log = join(makeTestFolder(), 'runs')
    const work = () => startWorker(name, server().url, log)
    /** Returns the workers' notes of an event, one for each run. */
    const runsOf = ({ id }: { readonly id: string }): readonly { readonly beside: number }[] => {
      if (!existsSync(log)) return []
      const lines = readFileSync(log, 'utf8').split('\n').slice(0, -1) // the last one may still be written
      return lines.map((line) => JSON.parse(line)).filter(({ event }) => event === id)
    }
    const inbox = open(server().url)
    onTestFinished(() => inbox.close())
    const scene = makeScene(inbox)
    /** Sends an event until it is accepted, as the service does: an engine on a busy machine may be too late for one attempt. */
    const accept = async (event: WebhookEvent<string, unknown>) => {
      let outcome = await scene.send(event)
      while (outcome.status === 503) outcome = await scene.send(event)
      expect(['accepted', 'duplicate']).toContain(outcome.outcome)
      return event
    }
    return { ...scene, work, runsOf, accept }
  }

  it('runs on with its items after it was suspended for longer than its lease, and settles them', async () => {
    const { inbox, work, runsOf, accept, untilWorkedOff } = openScene()
    const sent = await accept(makeEvent({ ms: 1_000 }))
    const worker = await work()
    while (runsOf(sent).length === 0) await sleep(10)
    worker.kill('SIGSTOP')
    await sleep(4_000)
    worker.kill('SIGCONT')
    await untilWorkedOff()
    expect(runsOf(sent)).toHaveLength(1)
    expect((await inbox.counts()).dead).toBe(0)
    expect(worker.exitCode).toBeNull()
  })

  it('takes its items from a suspended process, which changes nothing more when it resumes', async () => {
    const { inbox, work, runsOf, accept, untilWorkedOff } = openScene()
    const sent = await accept(makeEvent({ ms: 1_000 }))
    const worker = await work()
    while (runsOf(sent).length === 0) await sleep(10)
    worker.kill('SIGSTOP')
    await work()
    await untilWorkedOff()
    expect(runsOf(sent)).toHaveLength(2)
    worker.kill('SIGCONT') // its run ends now, and its lock is gone
    await sleep(1_500)
    await accept(makeEvent({}))
    await untilWorkedOff()
    expect(runsOf(sent)).toHaveLength(2)
    expect(worker.exitCode).toBeNull()
    expect((await inbox.counts()).dead).toBe(0)
  })

  it('releases the items of a killed process, and they run again beside each other', async () => {
    const { inbox, work, runsOf, accept, untilWorkedOff } = openScene()
    const sent = await Promise.all(Array.from({ length: 10 }, () => accept(makeEvent({ ms: 2_000 }))))
    const first = await work()
    while (sent.some((event) => runsOf(event).length === 0)) await sleep(10)
    first.kill('SIGKILL')
    await work()
    await untilWorkedOff()
    for (const event of sent) expect(runsOf(event)).toHaveLength(2)
    expect(Math.max(...sent.map((event) => runsOf(event)[1]?.beside ?? 0))).toBeGreaterThan(1)
    expect((await inbox.counts()).dead).toBe(0)
  })

  // Runs last: it leaves a dead letter in the inbox that these tests share.
  it('makes a dead letter of an event that kills three processes while it is alone, and of no other', async () => {
    const { inbox, work, runsOf, accept, isWorkedOff } = openScene()
    const innocent = Array.from({ length: 200 }, () => makeEvent({ ms: 20 }))
    const killer = makeEvent({ isKiller: true })
    await Promise.all([...innocent, killer].map(accept))
    let deaths = 0
    for (let child = await work(); !(await isWorkedOff()); await sleep(50)) {
      if (child.signalCode === null) continue
      deaths++ // a supervisor restarts it
      child = await work()
    }
    const { entries } = await inbox.list('dead')
    expect(entries).toMatchObject([{ id: killer.id, deaths: 3 }])
    expect(entries[0]?.tries.at(-1)).toMatchObject({ code: 'crashed' })
    expect(deaths).toBeLessThanOrEqual(6)
    const besides = runsOf(killer).map(({ beside }) => beside)
    // It ran alone after the second death, whatever ran at the same time before.
    expect(besides.slice(2)).toEqual([0, 0, 0])
    for (const event of innocent) expect(runsOf(event).length).toBeGreaterThan(0)
  })
})
