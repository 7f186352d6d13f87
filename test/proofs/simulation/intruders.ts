import type { Cluster } from './cluster.ts'
import { deliver } from './deliver.ts'
import { toBody, toEnvelope } from './messages.ts'
import type { EventPlan, IntruderPlan } from './plan.ts'
import { Chance } from './random.ts'
import { signBy } from './secret-ring.ts'
import type { World } from './world.ts'

const MALFORMED = ['{"id":', '[]', '{"type":"contact.created","accountKey":"account-a"}', '"\ufeff"', ''] as const

interface Forgery {
  readonly body: string
  readonly signature: string | undefined
}

/** Sends the deliveries that must be refused. */
export function sendIntruders(world: World, cluster: Cluster): void {
  for (const plan of world.plan.intruders)
    world.scheduler.at(plan.at, () => {
      const event = world.plan.events.find(({ number }) => number === plan.event)
      const chance = new Chance(plan.seed)
      const life = cluster.pick(chance)
      if (event === undefined || life === undefined) return
      world.say(
        'intruder',
        () => `sends number ${plan.number}, ${plan.kind}, like event ${event.number}, to ${life.name}`,
      )
      deliver(world, life, { what: plan, isIntruder: true, ...forge(world, plan, event, chance), chance }, () => {})
    })
}

function forge({ secrets }: World, plan: IntruderPlan, event: EventPlan, chance: Chance): Forgery {
  const { account } = event
  const strange = JSON.stringify({ ...toEnvelope(event), id: `intruder-${plan.number}` })
  const changed = toBody(event).replace('as sent', 'forged').replace('"batch":', '"batch":"forged",')
  switch (plan.kind) {
    case 'forged':
      return { body: strange, signature: signBy(strange, 'a secret of nobody') }
    case 'forged duplicate':
      return { body: changed, signature: signBy(changed, 'a secret of nobody') }
    case 'unsigned':
      return { body: strange, signature: undefined }
    case 'tampered':
      return { body: changed, signature: secrets.sign(toBody(event), account) }
    case 'malformed': {
      const body = chance.pick(MALFORMED)
      return { body, signature: secrets.sign(body, account) }
    }
    case 'other account': {
      const other = account === 'account-a' ? 'account-b' : 'account-a'
      return { body: strange, signature: secrets.sign(strange, other) }
    }
    case 'retired secret':
      return { body: strange, signature: secrets.signByRetired(strange, account) }
  }
}
