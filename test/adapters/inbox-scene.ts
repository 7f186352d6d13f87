import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver, type Inbox, type Outcome, type PosternError, type WebhookEvent } from 'postern'
import { events, signed, silentLogger } from 'postern/testing'
import { expect, it, onTestFinished } from 'vitest'

const SECRET = 'whsec_inbox_scene'

/** A receiver with an inbox, the ids of the contacts that it handles, and its reports to its owner. */
export function makeScene(inbox: Inbox, options: Partial<Parameters<typeof createReceiver>[0]> = {}) {
  const errors: PosternError[] = []
  const seen: string[] = []
  const receiver = createReceiver({
    secret: SECRET,
    inbox,
    logger: silentLogger,
    onError: (error) => void errors.push(error),
    ...options,
  })
  onTestFinished(async () => void (await receiver.close({ timeoutMs: 0 })))
  receiver.on('contact.created', ({ id }) => void seen.push(id))
  const send = (event: WebhookEvent<string, unknown>): Promise<Outcome> => {
    return receiver.receive(signed(event, { secret: SECRET }))
  }
  /** The state of one query: an item that moves from running to waiting between two queries would be in neither. */
  const hasNone = async () => {
    const { waiting, running } = await inbox.counts()
    return waiting + running === 0
  }
  // SQLite counts one state after another, and misses an item whose state another process changes meanwhile.
  const isWorkedOff = async () => (await hasNone()) && (await sleep(50, true)) && (await hasNone())
  const untilWorkedOff = async () => {
    while (!(await isWorkedOff())) await sleep(20)
  }
  return { inbox, receiver, send, errors, seen, isWorkedOff, untilWorkedOff }
}

/** An inbox in the view of the accepting process, and worker processes. */
export interface WorkedInbox {
  readonly inbox: Inbox
  startWorker(): Promise<ChildProcess>
  /** The workers' notes of an event, a line for each run. */
  runsOf(event: { readonly id: string }): readonly { readonly beside: number }[]
}

/** The instruction of a record, which the process carries out. */
export function makeEvent(record: Readonly<Record<string, unknown>>): WebhookEvent<string, unknown> {
  return { ...events.contact.created(), data: { record: { _id: 'c1', ...record } } }
}

/** Sends an event until it is accepted, as the service does: an engine on a busy machine may be too late for one attempt. */
export async function accept(
  { send }: Pick<ReturnType<typeof makeScene>, 'send'>,
  event: WebhookEvent<string, unknown>,
): Promise<void> {
  let outcome = await send(event)
  while (outcome.status === 503) outcome = await send(event)
  expect(['accepted', 'duplicate']).toContain(outcome.outcome)
}

/** Tests that no event is lost with a process that dies, and that an event which kills processes is detected. */
export function itOutlivesItsWorkers(open: () => WorkedInbox): void {
  it('releases the items of a killed process, and they run again beside each other', async () => {
    const { inbox, startWorker, runsOf } = open()
    const scene = makeScene(inbox)
    const sent = Array.from({ length: 10 }, () => makeEvent({ ms: 2_000 }))
    for (const event of sent) await accept(scene, event)
    const first = await startWorker()
    while (sent.some((event) => runsOf(event).length === 0)) await sleep(10)
    first.kill('SIGKILL')
    await startWorker()
    await scene.untilWorkedOff()
    for (const event of sent) expect(runsOf(event)).toHaveLength(2)
    expect(Math.max(...sent.map((event) => runsOf(event)[1]?.beside ?? 0))).toBeGreaterThan(1)
    expect((await inbox.counts()).dead).toBe(0)
  })

  it('makes a dead letter of an event that kills three processes while it is alone, and of no other', async () => {
    const { inbox, startWorker, runsOf } = open()
    const scene = makeScene(inbox)
    const innocent = Array.from({ length: 200 }, () => makeEvent({ ms: 20 }))
    const killer = makeEvent({ isKiller: true })
    await Promise.all([...innocent, killer].map((event) => accept(scene, event)))
    const deaths = await supervise(startWorker, scene.isWorkedOff)
    const { entries } = await inbox.list('dead')
    expect(entries).toMatchObject([{ id: killer.id, deaths: 3 }])
    expect(entries[0]?.tries.at(-1)).toMatchObject({ code: 'crashed' })
    expect(deaths).toBeLessThanOrEqual(6)
    // It ran alone after the second death, whatever ran at the same time before.
    expect(
      runsOf(killer)
        .slice(2)
        .map(({ beside }) => beside),
    ).toEqual([0, 0, 0])
    for (const event of innocent) expect(runsOf(event).length).toBeGreaterThan(0)
  })
}

/** Restarts a process whenever it dies, as a supervisor does, until a condition holds. */
async function supervise(start: () => Promise<ChildProcess>, isDone: () => Promise<boolean>): Promise<number> {
  const end = performance.now() + 90_000
  let deaths = 0
  let child = await start()
  while (!(await isDone()) && performance.now() < end) {
    if (child.signalCode !== null) {
      deaths++
      child = await start()
    }
    await sleep(50)
  }
  return deaths
}
