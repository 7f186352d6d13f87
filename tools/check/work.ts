import { ACTIONS, SERVICE_EVENT_TYPES } from '../../src/protocol/events.ts'
import type { Answer, Maker, Scene, TestDelivery, TestEvent, TestRecord, Verdict } from './case.ts'
import type { Probe } from './probe.ts'
import { createTurns, endAfter } from './turns.ts'
import { isSuccess, toVerdict } from './verdict.ts'

/** Time for work that an earlier event may still cause. */
export const SETTLE_MS = 300
/** Delays between two questions for the work of the same events. */
const [SHORTEST_DELAY_MS, LONGEST_DELAY_MS] = [50, 1_000]

export interface ProbedScene extends Scene {
  readonly probe: Probe
}

/** Waits for the work of an event like `readAll`, and returns the number of its runs. */
export async function readRuns(scene: ProbedScene, id: string): Promise<number> {
  const [runs = 0] = await readAll(scene, [id])
  return runs
}

/**
 * Waits until the work of all events has been done, and returns the number of runs of each. Ends the turn of the check if that takes time.
 * Gives up when a patience has passed since the events were acknowledged or one of them was done, and in its second half no event was done
 * that had been acknowledged before that: a queue that moves will come to them.
 */
export async function readAll(scene: ProbedScene, ids: readonly string[]): Promise<readonly number[]> {
  const { probe, patienceMs, wait, acknowledged } = scene
  const runs = ids.map(() => 0)
  const since = Math.max(...ids.map((id) => acknowledged.get(id)?.at ?? performance.now()))
  let due = since + patienceMs
  let lookedAt: number | undefined
  for (let delay = SHORTEST_DELAY_MS; ; delay = Math.min(delay * 1.2, LONGEST_DELAY_MS)) {
    for (const [at, id] of ids.entries()) {
      if (runs[at] !== 0) continue
      runs[at] = await probe.runs(id)
      if (runs[at] === 0) continue
      due = Math.max(due, performance.now() + patienceMs)
      lookedAt = undefined
    }
    if (!runs.includes(0)) return runs
    scene.endTurn()
    const now = performance.now()
    if (now >= due && lookedAt !== undefined) {
      const before = lookedAt
      await look(scene)
      if (!hasMoved(scene, before)) return runs
      due = now + patienceMs / 2
      lookedAt = now
    } else if (now >= due - patienceMs / 2 && lookedAt === undefined) {
      await look(scene)
      lookedAt = performance.now()
    }
    await wait(Math.min(delay, Math.max(patienceMs / 10, 1)))
  }
}

/** Returns true if an event that had been acknowledged at this time has been done since. */
function hasMoved({ acknowledged }: Scene, since: number): boolean {
  return [...acknowledged.values()].some(({ at, doneAt = 0 }) => at < since && doneAt > since)
}

/** Looks under way, by the events that they note: checks that wait at the same time share one. */
const looks = new WeakMap<object, Promise<void>>()

/** Notes which of the acknowledged events are done. */
function look({ probe, acknowledged }: ProbedScene): Promise<void> {
  const noteAll = async () => {
    for (const [id, event] of acknowledged)
      if (event.doneAt === undefined && (await probe.runs(id)) > 0) event.doneAt = performance.now()
  }
  const current = looks.get(acknowledged) ?? noteAll().finally(() => looks.delete(acknowledged))
  looks.set(acknowledged, current)
  return current
}

/** Sends an event, and returns the answer and, if it is acknowledged, the number of runs of its work. */
export async function sendEvent(scene: ProbedScene, event: TestEvent) {
  const answer = await scene.send(scene.make.delivery(event))
  return { answer, runs: isSuccess(answer) ? await readRuns(scene, event.id) : 0 }
}

/** Waits until the work of one of the events is done, and returns its id; undefined if none is done within the patience. */
export async function readAny(
  { probe, wait, patienceMs }: ProbedScene,
  ids: readonly string[],
): Promise<string | undefined> {
  const end = performance.now() + patienceMs
  for (let delay = 50; ; delay = Math.min(delay * 1.2, 1_000)) {
    for (const id of ids) if ((await probe.runs(id)) > 0) return id
    if (performance.now() >= end) return undefined
    await wait(Math.min(delay, Math.max(patienceMs / 10, 1)))
  }
}

/** Number of events of which one shows that a queue has passed the earlier ones: a receiver may lose some. */
const MARKERS = 3

/** Waits until the work of a later event is done, and a moment more. */
export async function passQueue(scene: ProbedScene, type: string | undefined): Promise<void> {
  const { make, send } = scene
  const markers = Array.from({ length: MARKERS }, () => make.event({ type }))
  const answers = await Promise.all(markers.map((event) => send(make.delivery(event))))
  const accepted = markers.filter((_, at) => answers.slice(at, at + 1).every(isSuccess)).map(({ id }) => id)
  if (accepted.length > 0) await readAny(scene, accepted)
  await scene.wait(SETTLE_MS)
}

/** Returns the numbers of runs after a second run had time to happen. */
export async function readSettled(scene: ProbedScene, ...ids: readonly string[]): Promise<readonly number[]> {
  const [type] = await scene.counting().types
  scene.endTurn()
  await passQueue(scene, type)
  return Promise.all(ids.map((id) => scene.probe.runs(id)))
}

const LATEST = 10

/**
 * Returns false if plain events are counted, and none of the latest is done soon: the receiver has stopped its work, which other checks
 * report, or is far behind.
 */
export async function isWorking(scene: ProbedScene): Promise<boolean> {
  const { acknowledged, counting, make, patienceMs } = scene
  const latest = [...acknowledged.keys()].slice(-LATEST)
  if (latest.length < LATEST || !(await counting().types).includes(make.plainType)) return true
  // A receiver may look for work every few seconds.
  return (await readAny({ ...scene, patienceMs: patienceMs / 6 }, latest)) !== undefined
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

/** Wraps a check of events of one counted type: plain ones, or those of the first other type; it is skipped if there is none. */
export function withCounted(judge: (scene: ProbedScene, makeEvent: () => TestEvent) => Promise<Verdict>): Run {
  return withProbe(async (scene) => {
    const [type] = await scene.counting().types
    if (type === undefined) return { status: 'skipped', answers: [], cause: 'not_counted' }
    return judge(scene, () => scene.make.event({ type }))
  })
}

/** Number of deliveries, or of types, that a check sends at a time. */
export const WIDTH = 3

/** Returns a scene that sends three deliveries at a time, however many are waiting: judgements side by side must not be a burst. */
export function narrow<T extends Scene>(scene: T): T {
  const takeTurn = createTurns(WIDTH)
  const limit =
    (send: Scene['send']): Scene['send'] =>
    async (delivery) => {
      const end = await takeTurn()
      return endAfter(end, send(delivery))
    }
  return { ...scene, send: limit(scene.send), sendOnce: limit(scene.sendOnce) }
}

/** Event of a type, with the one that has to come before it. */
interface Prepared {
  readonly event: TestEvent
  /** Event that creates the record, if the other one changes it. */
  readonly creation: TestEvent | undefined
}

/** Makes an event of a type. If it changes a record, sends the event that creates the record before. */
export async function prepare({ make, send }: Pick<Scene, 'make' | 'send'>, type: string): Promise<Prepared> {
  const [, model, action] = /^(\w+)\.(updated|deleted)$/.exec(type) ?? []
  if (model === undefined) return { event: make.event({ type }), creation: undefined }
  const creation = make.event({ type: `${model}.created` })
  await send(make.delivery(creation))
  const record = recordOf(creation)
  const changed = action === 'deleted' ? { _id: record?._id } : { ...record, lastName: 'Changed' }
  return { event: make.event({ type, data: { record: changed } }), creation }
}

export const recordOf = ({ data }: TestEvent): TestRecord | undefined =>
  (data as { record?: TestRecord } | undefined)?.record // by the maker

/** Types that no receiver knows. */
export const UNKNOWN_TYPES: readonly string[] = [...typesOf('checkThing'), 'check.unheard.of', 'invoice.paid']

/** Lists the types of which events are sent: the plain type, changes of records of several models, and what the service names. */
export function listTypes({ plainType, model }: Maker, more: readonly string[] = []): readonly string[] {
  const models = [model, 'contact', 'opportunity', 'financeInvoice']
  return [...new Set([plainType, ...models.flatMap(typesOf), ...SERVICE_EVENT_TYPES, ...more])]
}

/** Lists the types of a model's events. */
export function typesOf(model: string): readonly string[] {
  return ACTIONS.map((action) => `${model}.${action}`)
}

const MOST_NAMED = 6

/** Judges all of these, so many at a time. Returns the worst verdict, and names several that have it; a skipped one counts less than a pass. */
export async function judgeAll(
  names: readonly string[],
  judge: (name: string) => Promise<Verdict>,
  width = Infinity,
): Promise<Verdict> {
  const takeTurn = createTurns(width)
  const judgeOne = async (name: string) => {
    const end = await takeTurn()
    return { name, verdict: await judge(name).finally(end) }
  }
  const judged = await Promise.all(names.map(judgeOne))
  const worst = (['fail', 'warn', 'pass', 'info', 'skipped'] as const).find((status) =>
    judged.some(({ verdict }) => verdict.status === status),
  )
  const found = judged.filter(({ verdict }) => verdict.status === worst)
  // Of wrong answers, a 2xx is the worst: the receiver has accepted a forgery, or lost an event.
  const { verdict } =
    found.find(({ verdict: { isPartly } }) => isPartly) ??
    found.find(({ verdict: { answers } }) => answers.some(isSuccess)) ??
    found[0] ??
    {}
  if (verdict === undefined) return { status: 'skipped', answers: [], cause: 'not_counted' }
  if (names.length === 1 || worst === 'skipped' || worst === 'pass') return verdict
  const [shown, ...rest] = verdict.answers
  const isAlike = ({ verdict: { answers } }: (typeof judged)[0]) =>
    rest.length > 0 || answers[0]?.status === shown?.status
  const others = found.filter((each) => !isAlike(each))
  const named = showNames(found.filter(isAlike)) + (others.length > 0 ? `; another answer: ${showNames(others)}` : '')
  return { ...verdict, note: verdict.note === undefined ? named : `${verdict.note}; ${named}` }
}

function showNames(named: readonly { readonly name: string }[]): string {
  const more = named.length > MOST_NAMED ? ` and ${named.length - MOST_NAMED} more` : ''
  return `${named
    .slice(0, MOST_NAMED)
    .map(({ name }) => name)
    .join(', ')}${more}`
}

/** Sends deliveries one after the other, and judges the answer to each. */
export function judgeEach(
  { send }: Scene,
  deliveries: readonly (readonly [what: string, delivery: TestDelivery])[],
  judge: (answer: Answer) => Verdict,
): Promise<Verdict> {
  const byName = new Map(deliveries)
  const judgeOne = async (name: string) => {
    const delivery = byName.get(name)
    return delivery === undefined ? toVerdict('skipped', []) : judge(await send(delivery))
  }
  return judgeAll([...byName.keys()], judgeOne, 1)
}

/** Wraps a check that judges an event of each type whose work is counted. */
export function forEachType(judge: (scene: ProbedScene, event: TestEvent) => Promise<Verdict>): Run {
  return withProbe(async (scene) => {
    const limited = narrow(scene)
    return judgeAll(await scene.counting().types, async (type) => {
      const { event, creation } = await prepare(limited, type)
      if (creation !== undefined) await scene.wait(SETTLE_MS)
      return judge(limited, event)
    })
  })
}

/** Fails a verdict if the work of an acknowledged event was not done, though that of a plain one is. */
export async function judgeWork(scene: Scene, verdict: Verdict): Promise<Verdict> {
  const { probe, make } = scene
  const due = listDue(verdict.answers, make)
  if (probe === undefined || due.length === 0 || verdict.status === 'fail') return verdict
  // Checks of the work report a probe that fails.
  const counted: readonly string[] = await scene.counting().types.catch(() => [])
  if (!counted.includes(make.plainType)) return verdict
  const runs = await readAll({ ...scene, probe }, due)
  if (!runs.includes(0)) return verdict
  const undone = runs.filter((count) => count === 0).length
  return { ...verdict, status: 'fail', cause: 'not_done', note: `not done for ${undone} of ${due.length}` }
}

/**
 * Lists the ids of acknowledged events that leave no choice: plain ones in the account of the run; if they are about a record, of active
 * records with an e-mail address, of which there is no other event. A receiver may ignore others.
 */
function listDue(answers: readonly Answer[], { plainType, accountKey, isOfRun }: Maker): readonly string[] {
  const events = new Map(answers.flatMap(({ event }) => (event === undefined ? [] : [[event.id, event] as const])))
  const isOnly = (id: unknown) => [...events.values()].filter((event) => recordOf(event)?._id === id).length === 1
  const isDue = (event: TestEvent) => {
    if (event.type !== plainType || event.accountKey !== accountKey || !isOfRun(event.id)) return false
    const record = recordOf(event)
    if (record === undefined) return !plainType.endsWith('.created')
    const { _id, status, email } = record
    return isOnly(_id) && isOfRun(_id) && status === 'active' && typeof email === 'string' && email !== ''
  }
  const due = answers.filter(isSuccess).flatMap(({ event }) => (event !== undefined && isDue(event) ? [event.id] : []))
  return [...new Set(due)]
}
