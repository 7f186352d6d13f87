import type { Cluster } from '../cluster.ts'
import type { World } from '../world.ts'
import type { InboxHouse } from './inbox-house.ts'
import type { InboxAct } from './inbox-plan.ts'
import { afterAbortMs, judgeClosedWorker } from './judge-inbox.ts'
import { startWorker } from './start-worker.ts'

/** Tolerance of `close()` beyond its own limit. */
const SLACK_MS = 50

/** Plans the acts of operators, and of the apps on their workers. */
export function bringActs(world: World, house: InboxHouse, cluster: Cluster): void {
  for (const act of house.plan.acts) world.scheduler.at(act.at, () => bring(world, house, cluster, act))
}

function bring(world: World, house: InboxHouse, cluster: Cluster, act: InboxAct): void {
  switch (act.kind) {
    case 'replay':
    case 'drop': {
      const event = world.plan.events.find(({ number }) => number === act.event)
      const key = event && house.ledger.keyOf(event)
      if (key === undefined) return
      const isDone = act.kind === 'replay' ? house.replay(key) : house.drop(key)
      world.say('operator', () => `${act.kind} of event ${act.event}: ${isDone}`)
      return
    }
    case 'replay all':
      for (const key of house.ledger.keysOfTheDead()) house.replay(key)
      world.say('operator', () => 'replays every dead letter')
      return
    case 'wall clock':
      return cluster.at(act.process)?.jumpClock(act.byMs)
    case 'close worker':
      return closeWorker(world, house, cluster, act)
  }
}

/** Closes the worker of a process whose receiver continues, and starts it again later. */
function closeWorker(
  world: World,
  house: InboxHouse,
  cluster: Cluster,
  { process, timeoutMs, againMs }: Extract<InboxAct, { readonly kind: 'close worker' }>,
): void {
  const life = cluster.at(process)
  if (life?.isAlive !== true || life.isClosing || life.worker === undefined) return
  const { worker } = life
  life.worker = undefined
  life.post(0, async () => {
    if (!life.step()) return
    world.say(life.name, () => `closes its worker, for ${timeoutMs} ms at most`)
    const [beganAt, stalledMs] = [world.now, life.stalledMs]
    const { unfinished } = await worker.close({ timeoutMs })
    if (!life.step()) return
    world.say(life.name, () => `has closed its worker, ${unfinished} unfinished`)
    const tookMs = world.now - beganAt - (life.stalledMs - stalledMs)
    if (tookMs > timeoutMs + afterAbortMs(timeoutMs) + SLACK_MS)
      world.findings.add('close late', `close() of the worker of ${life.name} took ${tookMs} ms`)
    judgeClosedWorker(world, house, life, { timeoutMs, tookMs: world.now - beganAt, unfinished })
    await life.sleep(againMs)
    if (life.step() && !life.isClosing) startWorker(world, house, life)
  })
}
