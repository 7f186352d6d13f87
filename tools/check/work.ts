import { SERVICE_EVENT_TYPES } from '../../src/protocol/events.ts'
import type { Answer, Maker, Scene, TestEvent, Verdict } from './case.ts'
import type { Probe } from './probe.ts'
import { isSuccess } from './verdict.ts'

const SETTLE_MS = 300

/** Type of a plain event, which is first in the list. */
export const PLAIN = 'contact.created'

export interface ProbedScene extends Scene {
  readonly probe: Probe
}

/** Waits for the work of an event like `readAll`, and returns the number of its runs. */
export async function readRuns(scene: ProbedScene, id: string): Promise<number> {
  const [runs = 0] = await readAll(scene, [id])
  return runs
}

/**
 * Waits until the work of all events has been done, and returns the number of runs of each. Gives up when a patience has passed in which none
 * of it was done, and in its second half none of the events ahead of them either: a queue that moves will come to them.
 */
async function readAll(scene: ProbedScene, ids: readonly string[]): Promise<readonly number[]> {
  const { probe, patienceMs, wait } = scene
  const runs = ids.map(() => 0)
  const ahead = new Set(scene.acknowledged)
  let start = performance.now()
  let hasLooked = false
  for (;;) {
    for (const [at, id] of ids.entries()) {
      if (runs[at] !== 0) continue
      runs[at] = await probe.runs(id)
      if (runs[at] === 0) continue
      start = performance.now()
      hasLooked = false
    }
    if (!runs.includes(0)) return runs
    if (performance.now() >= start + patienceMs / 2) {
      const isMoving = await takeDone(scene, ahead)
      if (hasLooked && !isMoving) return runs
      start = performance.now()
      hasLooked = true
    }
    await wait(50)
  }
}

/** Removes the events whose work has been done. Returns true if there is one. */
async function takeDone({ probe, acknowledged }: ProbedScene, ahead: Set<string>): Promise<boolean> {
  const { size } = ahead
  for (const id of ahead) if ((await probe.runs(id)) > 0 && ahead.delete(id)) acknowledged.delete(id)
  return ahead.size < size
}

/** Sends an event, and returns the answer and, if it is acknowledged, the number of runs of its work. */
export async function sendEvent(scene: ProbedScene, event: TestEvent) {
  const answer = await scene.send(scene.make.delivery(event))
  return { answer, runs: isSuccess(answer) ? await readRuns(scene, event.id) : 0 }
}

/** Returns the numbers of runs after a second run had time to happen: a later event shows that a queue has passed these. */
export async function readSettled(scene: ProbedScene, ...ids: readonly string[]): Promise<readonly number[]> {
  const [type] = await scene.countedTypes()
  await sendEvent(scene, makeEvent(scene.make, type))
  await scene.wait(SETTLE_MS)
  return Promise.all(ids.map((id) => scene.probe.runs(id)))
}

/** Types of which an event is sent, to see whose work the probe counts. */
export const TYPES = [PLAIN, 'contact.updated', 'contact.deleted', 'opportunity.created', ...SERVICE_EVENT_TYPES]

/** Makes an event of each of the types; contacts that it changes are created before, if that is one of the types. */
async function makeEvents(scene: ProbedScene, types: readonly string[]): Promise<readonly TestEvent[]> {
  const events = types.map(async (type) => {
    const contact = scene.make.contact()
    const isChange = type === 'contact.updated' || type === 'contact.deleted'
    if (isChange && types.includes(PLAIN)) await sendEvent(scene, makeEvent(scene.make, PLAIN, contact))
    return makeEvent(scene.make, type, contact)
  })
  return Promise.all(events)
}

function makeEvent(make: Maker, type = PLAIN, contact = make.contact()): TestEvent {
  const { _id } = contact
  const records: Readonly<Record<string, object>> = {
    [PLAIN]: contact,
    'contact.updated': { ...contact, lastName: 'Changed' },
    'opportunity.created': { _id, name: 'Check' },
  }
  const record = records[type] ?? { _id }
  return make.event({ type, data: /\.(created|updated|deleted)$/.test(type) ? { record } : { note: 'from the check' } })
}

/** Returns the types whose work the probe counts: the owner decides which ones the receiver has work for. */
export async function findCounted(scene: ProbedScene): Promise<readonly string[]> {
  const { make, send, probe } = scene
  const [plain, ...others] = await makeEvents(scene, TYPES)
  if (plain === undefined) return []
  await Promise.all(others.map((event) => send(make.delivery(event))))
  // The plain event comes last: once its work is done, a queue has passed the others.
  await sendEvent(scene, plain)
  await scene.wait(SETTLE_MS)
  const runs = await Promise.all([plain, ...others].map(({ id }) => probe.runs(id)))
  return TYPES.filter((_, at) => (runs[at] ?? 0) > 0)
}

type Run = (scene: Scene) => Promise<Verdict>

/** Wraps a check that needs a probe; it is skipped without one. */
export function withProbe(judge: (scene: ProbedScene) => Promise<Verdict>): Run {
  return async (scene) => {
    const { probe } = scene
    if (probe === undefined) return { status: 'skipped', answers: [], cause: 'no_probe' }
    return judge({ ...scene, probe })
  }
}

/** Wraps a check of plain events; it is skipped if the receiver has work only for others. */
export function withPlain(judge: (scene: ProbedScene) => Promise<Verdict>): Run {
  return withProbe(async (scene) => {
    const types = await scene.countedTypes()
    return types.includes(PLAIN) ? judge(scene) : { status: 'skipped', answers: [], cause: 'not_counted' }
  })
}

const WIDTH = 3

/** Wraps a check that judges an event of each type whose work is counted: it fails if one does, and otherwise passes if one does. */
export function forEachType(judge: (scene: ProbedScene, event: TestEvent) => Promise<Verdict>): Run {
  return withProbe(async (scene) => {
    const events = await makeEvents(scene, await scene.countedTypes())
    const verdicts: Verdict[] = []
    for (let at = 0; at < events.length; at += WIDTH)
      verdicts.push(...(await Promise.all(events.slice(at, at + WIDTH).map((event) => judge(scene, event)))))
    const found = (status: Verdict['status']) => verdicts.findIndex((verdict) => verdict.status === status)
    const at = [found('fail'), found('pass'), 0].find((index) => index >= 0) ?? 0
    const { [at]: verdict } = verdicts
    if (verdict === undefined) return { status: 'skipped', answers: [], cause: 'not_counted' }
    return at === 0 ? verdict : { ...verdict, note: events[at]?.type ?? '' }
  })
}

/** Fails a verdict if the work of an acknowledged contact was not done, though that of a plain one is. */
export async function judgeWork(scene: Scene, verdict: Verdict): Promise<Verdict> {
  const { probe, make } = scene
  const due = listDue(verdict.answers, make.accountKey)
  if (probe === undefined || due.length === 0 || verdict.status === 'fail') return verdict
  // Checks of the work report a probe that fails.
  const counted: readonly string[] = await scene.countedTypes().catch(() => [])
  if (!counted.includes(PLAIN)) return verdict
  const runs = await readAll({ ...scene, probe }, due)
  if (!runs.includes(0)) return verdict
  const undone = runs.filter((count) => count === 0).length
  return { ...verdict, status: 'fail', cause: 'not_done', note: `not done for ${undone} of ${due.length}` }
}

/**
 * Lists the ids of acknowledged events that leave no choice: new and active contacts with an e-mail address, in the account of the run. A
 * receiver may ignore others, and a later event of the same record.
 */
function listDue(answers: readonly Answer[], accountKey: string): readonly string[] {
  const records = new Set<unknown>()
  return answers.filter(isSuccess).flatMap(({ event }) => {
    const { _id, status, email } = (event?.data as { record?: Record<string, unknown> } | undefined)?.record ?? {} // by the maker
    if (event === undefined || records.has(_id)) return []
    records.add(_id)
    const isDue = event.type === PLAIN && event.accountKey === accountKey && status === 'active' && email !== ''
    return isDue ? [event.id] : []
  })
}
