import type { Counting, Loss, TestEvent } from './case.ts'
import { isSuccess } from './verdict.ts'
import { listTypes, narrow, type ProbedScene, passQueue, prepare, readAll, readAny } from './work.ts'

/**
 * Delays of the events of each type after the creation of their record: the loss of one then does not hide that the type is counted, such
 * as that of a change which follows the creation within a second.
 */
const DELAYS_MS = [0, 1_500]
/** Time for the creation of a record before its change is sent. */
const CREATION_MS = 1_000

interface Sent {
  readonly event: TestEvent
  /** True if its work has to be done in any case, if work of its type is. */
  readonly isDue: boolean
}

/** Sends events of each type, and finds out whose work the probe counts: the owner decides for which types the receiver has work. */
export function startCounting(scene: ProbedScene): Counting {
  const sent = sendAll(scene)
  const types = sent.then((events) => findTypes(scene, events))
  const losses = Promise.all([sent, types]).then(([events, counted]) => findLosses(scene, events, counted))
  // Each of them is awaited by some checks only.
  for (const part of [sent, types, losses]) part.catch(() => {})
  return { sent, types, losses }
}

async function sendAll(scene: ProbedScene): Promise<readonly Sent[]> {
  const limited = narrow(scene)
  const { make, send } = limited
  const sendOne = async (type: string, delayMs: number): Promise<readonly Sent[]> => {
    const { event: prepared, creation } = await prepare(limited, type)
    const isCreated = creation === undefined || (await isDoneSoon(scene, creation))
    if (creation !== undefined) await scene.wait(delayMs)
    const event = { ...prepared, timestamp: new Date().toISOString() }
    const isAcknowledged = isSuccess(await send(make.delivery(event)))
    const created = creation === undefined ? [] : [{ event: creation, isDue: false }]
    return [...created, { event, isDue: isAcknowledged && isCreated }]
  }
  const sending = listTypes(scene.make).flatMap((type) => DELAYS_MS.map((delayMs) => sendOne(type, delayMs)))
  return (await Promise.all(sending)).flat()
}

/** Waits a moment for the creation of a record: a receiver may ignore the change of a record that it does not know. */
async function isDoneSoon({ probe, wait }: ProbedScene, { id }: TestEvent): Promise<boolean> {
  for (let waited = 0; waited <= CREATION_MS; waited += 100) {
    if ((await probe.runs(id)) > 0) return true
    await wait(100)
  }
  return false
}

/** Finds the types whose work is counted. Once that of a later event is done, a queue has passed the others. */
async function findTypes(scene: ProbedScene, sent: readonly Sent[]): Promise<readonly string[]> {
  const ids = sent.map(({ event }) => event.id)
  const counted = await readAny(scene, ids)
  const type = sent.find(({ event }) => event.id === counted)?.event.type
  if (type === undefined) return []
  await passQueue(scene, type)
  const runs = await Promise.all(ids.map((id) => scene.probe.runs(id)))
  const found = new Set(sent.filter((_, at) => (runs[at] ?? 0) > 0).map(({ event }) => event.type))
  return listTypes(scene.make).filter((each) => found.has(each))
}

async function findLosses(
  scene: ProbedScene,
  sent: readonly Sent[],
  types: readonly string[],
): Promise<readonly Loss[]> {
  const losses = types.map(async (type): Promise<Loss> => {
    const due = sent.filter(({ event, isDue }) => isDue && event.type === type)
    const runs = await readAll(
      scene,
      due.map(({ event }) => event.id),
    )
    return { type, lost: runs.filter((count) => count === 0).length, total: due.length }
  })
  return (await Promise.all(losses)).filter(({ lost }) => lost > 0)
}
