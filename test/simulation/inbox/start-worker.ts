import type { Inbox, WorkOptions } from 'postern'
import type { Life } from '../life.ts'
import type { World } from '../world.ts'
import { InboxClient } from './inbox-client.ts'
import type { InboxHouse } from './inbox-house.ts'

/** Makes the inbox for the receiver of a process. */
export function toInbox(world: World, house: InboxHouse, life: Life): Inbox {
  const client = new InboxClient(world, house, life)
  const refuse = () => Promise.reject(new Error('no receiver asks for this'))
  const unused = { counts: refuse, list: refuse, get: refuse, replay: refuse, drop: refuse }
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
  life.worker = life.receiver?.work(options)
  world.say(life.name, () => `works: ${JSON.stringify(house.plan.work)}`)
}
