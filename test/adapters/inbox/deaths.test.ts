import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { serverFor } from '../../engines/server-for.ts'
import { accept, itOutlivesItsWorkers, makeEvent, makeScene, type WorkedInbox } from '../inbox-scene.ts'
import { killWorkers, startWorker } from '../stores/start-worker.ts'
import { ENGINES } from './engines.ts'

const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'postern-inbox-'))
afterEach(killWorkers)
afterAll(() => rmSync(folder, { recursive: true }))

describe.each(ENGINES)('an inbox on $name, and processes that die', ({ name, start, open: openUrl }) => {
  const server = serverFor(start)
  const log = join(folder, `${name}.log`)
  const work = (concurrency = 10) => startWorker(WORKER, name, server().url, log, String(concurrency))
  const runsOf: WorkedInbox['runsOf'] = ({ id }) => {
    if (!existsSync(log)) return []
    const lines = readFileSync(log, 'utf8').split('\n').slice(0, -1) // the last one may still be written
    return lines.map((line) => JSON.parse(line)).filter(({ event }) => event === id)
  }
  const open = () => {
    const inbox = openUrl(server().url)
    onTestFinished(() => inbox.close())
    return inbox
  }

  it('hands each event to one of several processes, one of which is killed', async () => {
    const scene = makeScene(open())
    const sent = Array.from({ length: 200 }, () => makeEvent({ ms: 20 }))
    await Promise.all(sent.map((event) => accept(scene, event)))
    const [first] = await Promise.all([work(5), work(5), work(5)])
    while (sent.filter((event) => runsOf(event).length > 0).length < 30) await sleep(10)
    first?.kill('SIGKILL')
    await scene.untilWorkedOff()
    const runs = sent.map((event) => runsOf(event).length)
    expect(Math.min(...runs)).toBe(1)
    expect(Math.max(...runs)).toBeLessThanOrEqual(2)
    expect(runs.filter((count) => count === 2).length).toBeLessThanOrEqual(5)
  })

  it('runs on with its items after it was suspended for longer than its lease, and settles them', async () => {
    const scene = makeScene(open())
    const sent = makeEvent({ ms: 1_000 })
    await accept(scene, sent)
    const worker = await work()
    while (runsOf(sent).length === 0) await sleep(10)
    worker.kill('SIGSTOP')
    await sleep(4_000)
    worker.kill('SIGCONT')
    await scene.untilWorkedOff()
    expect(runsOf(sent)).toHaveLength(1)
    expect((await scene.inbox.counts()).dead).toBe(0)
    expect(worker.exitCode).toBeNull()
  })

  it('takes its items from a suspended process, which changes nothing more when it resumes', async () => {
    const scene = makeScene(open())
    const sent = makeEvent({ ms: 1_000 })
    await accept(scene, sent)
    const worker = await work()
    while (runsOf(sent).length === 0) await sleep(10)
    worker.kill('SIGSTOP')
    await work()
    await scene.untilWorkedOff()
    expect(runsOf(sent)).toHaveLength(2)
    worker.kill('SIGCONT') // its run ends now, and its lock is gone
    await sleep(1_500)
    await accept(scene, makeEvent({}))
    await scene.untilWorkedOff()
    expect(runsOf(sent)).toHaveLength(2)
    expect(worker.exitCode).toBeNull()
    expect((await scene.inbox.counts()).dead).toBe(0)
  })

  // Runs last: it leaves a dead letter in the queue that these tests share.
  itOutlivesItsWorkers(() => ({ inbox: open(), startWorker: () => work(), runsOf }))
})
