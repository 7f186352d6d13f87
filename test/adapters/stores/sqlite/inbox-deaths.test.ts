import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createReceiver, sign, type WebhookEvent } from 'postern'
import { openSqlite, sqliteInbox } from 'postern/sqlite'
import { events } from 'postern/testing'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { drivers } from './drivers.ts'
import { makeFolder } from './folder.ts'

const WORKER = fileURLToPath(new URL('inbox-worker.ts', import.meta.url))
const SECRET = 'whsec_worker'
const fileOf = makeFolder()
const children: ChildProcess[] = []
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
})

/** The inbox of a file, as the process sees it that accepts. */
function open(path: string, driver: (typeof drivers)[number]) {
  const database = openSqlite(path, { driver })
  onTestFinished(() => database.close())
  const inbox = sqliteInbox({ database })
  const receiver = createReceiver({ secret: SECRET, inbox, logger: { debug() {}, info() {}, warn() {}, error() {} } })
  receiver.on('*', () => {})
  const deliver = async (event: WebhookEvent<string, unknown>) => {
    const body = Buffer.from(JSON.stringify(event))
    expect(await receiver.receive({ body, signature: sign(body, SECRET) })).toMatchObject({ outcome: 'accepted' })
  }
  const runsOf = ({ id }: { readonly id: string }) =>
    database.prepare('SELECT pid, beside FROM runs WHERE event = ?').all(id)
  return { inbox, deliver, runsOf }
}

/** What a record says, the process does. */
function makeEvent(record: Readonly<Record<string, unknown>>): WebhookEvent<string, unknown> {
  return { ...events.contact.created(), data: { record: { _id: 'c1', ...record } } }
}

async function start(path: string, driver: string, concurrency = 10): Promise<ChildProcess> {
  const child = fork(WORKER, [path, driver, String(concurrency)], { execArgv: ['--import', 'tsx'], silent: true })
  children.push(child)
  await once(child, 'message')
  return child
}

/** Starts a process again whenever one dies, as a supervisor does, until something is so. */
async function supervise(path: string, driver: string, isDone: () => Promise<boolean>): Promise<number> {
  let deaths = 0
  let isOver = false
  const loop = (async () => {
    while (!isOver) {
      const child = await start(path, driver)
      await Promise.race([
        once(child, 'exit'),
        (async () => {
          while (!isOver) await sleep(20)
        })(),
      ])
      if (isOver) child.kill('SIGKILL')
      else deaths++
    }
  })()
  const end = performance.now() + 60_000
  while (!(await isDone()) && performance.now() < end) await sleep(50)
  isOver = true
  await loop
  return deaths
}

describe.each(drivers)('sqliteInbox on %s, and processes that die', (driver) => {
  const pathOf = (name: string) => fileOf(`${name}-${driver.replace(':', '-')}.db`)

  it('gives back what a killed process ran, and it is handled', async () => {
    const path = pathOf('killed')
    const { inbox, deliver, runsOf } = open(path, driver)
    const sent = makeEvent({ ms: 1_500 })
    await deliver(sent)
    const first = await start(path, driver)
    while (runsOf(sent).length === 0) await sleep(10)
    first.kill('SIGKILL')
    await start(path, driver)
    // Of one look: what stops running and waits again between two would be in neither.
    const countLeft = async () => {
      const { waiting, running } = await inbox.counts()
      return waiting + running
    }
    while ((await countLeft()) > 0) await sleep(50)
    expect(runsOf(sent)).toHaveLength(2)
    expect((await inbox.counts()).dead).toBe(0)
  }, 60_000)

  it('makes a dead letter of what kills three processes while it is alone, and of nothing else', async () => {
    const path = pathOf('killer')
    const { inbox, deliver, runsOf } = open(path, driver)
    const innocent = Array.from({ length: 9 }, () => makeEvent({ ms: 300 }))
    const killer = makeEvent({ isKiller: true })
    for (const event of [...innocent, killer]) await deliver(event)
    const deaths = await supervise(path, driver, async () => {
      const { waiting, running } = await inbox.counts()
      return waiting + running === 0
    })
    const { entries } = await inbox.list('dead')
    expect(entries).toMatchObject([{ id: killer.id, deaths: 3 }])
    expect(entries[0]?.tries.at(-1)).toMatchObject({ code: 'crashed' })
    expect(deaths).toBeLessThanOrEqual(5)
    // Whatever ran beside it at first, it was alone after that.
    expect(
      runsOf(killer)
        .slice(1)
        .map(({ beside }) => Number(beside)),
    ).toEqual([0, 0, 0])
    for (const event of innocent) expect(runsOf(event).length).toBeGreaterThan(0)
  }, 120_000)
})
