import type { Inbox, WorkOptions } from 'postern'
import type { Life } from '../life.ts'
import type { World } from '../world.ts'
import { InboxClient } from './inbox-client.ts'
import type { InboxHouse } from './inbox-house.ts'
import type { OncePlan } from './inbox-plan.ts'
import { judgeWorkedOnce } from './judge-inbox.ts'
import { POLL_MS, WorkerClock } from './worker-clock.ts'

/** Makes the inbox for the receiver of a process. */
export function toInbox(world: World, house: InboxHouse, life: Life): Inbox {
  const client = new InboxClient(world, house, life)
  const refuse = () => Promise.reject(new Error('no receiver asks for this'))
  const counts = () => Promise.resolve({ waiting: 0, running: 0, dead: 0, oldestDueAt: undefined })
  const unused = { counts, list: refuse, get: refuse, replay: refuse, drop: refuse }
  return { ...unused, put: (item) => client.put(item), work: (run, options) => client.work(run, options) }
}

/** Starts the work of a process's role. */
export function startWorker(world: World, house: InboxHouse, life: Life): void {
  const role = house.plan.roles[life.process]
  if (role === 'works') life.isListening = false
  if (role === 'accepts') return
  const { concurrency, attempts, delaysMs } = house.plan.work
  const options: WorkOptions = {
    concurrency,
    attempts,
    ...(delaysMs !== undefined && { delay: (attempt) => delaysMs[attempt - 1] ?? 0 }),
  }
  world.say(life.name, () => `works: ${JSON.stringify(house.plan.work)}`)
  if (house.plan.once === undefined) life.worker = life.receiver?.work(options)
  else void workAgainAndAgain(world, house, life, { ...options, ...house.plan.once })
}

/** Calls `workOnce` a while after something became due, as the trigger of a host does that freezes between the calls. */
async function workAgainAndAgain(
  world: World,
  house: InboxHouse,
  life: Life,
  { forMs, max, pauseMs, ...options }: WorkOptions & OncePlan,
): Promise<void> {
  const trigger = `${life.name}-trigger`
  const clock = new WorkerClock(house, life, trigger, world.plan.settings.leaseMs)
  life.isFrozen = true
  for (;;) {
    await new Promise<void>((resolve) => void clock.setTimeout(resolve, POLL_MS))
    await life.sleep(pauseMs)
    if (!life.step() || life.isClosing || life.receiver === undefined) return
    life.isFrozen = false
    const [beganAt, stalledMs] = [world.now, life.stalledMs]
    const done = await life.receiver.workOnce({ ...options, forMs, ...(max !== undefined && { max }) })
    if (!life.step()) return
    life.isFrozen = true
    world.say(life.name, () => `has worked once: ${JSON.stringify(done)}`)
    judgeWorkedOnce(world, life, { done, forMs, max, tookMs: world.now - beganAt - (life.stalledMs - stalledMs) })
  }
}
