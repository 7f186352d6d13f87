import { nameEvent } from './draw-events.ts'
import { type EventPlan, type FaultPlan, type HandlerPlan, nameOf } from './plan.ts'
import { Chance } from './random.ts'

const NO_TIMES = ['', 'soon', '2025-01-01', '2025-01-01T00:09:00', '2025-02-30T00:00:00Z'] as const

interface Ordered {
  readonly handlers: readonly HandlerPlan[]
  readonly faults: readonly FaultPlan[]
  readonly events: readonly EventPlan[]
}

/** Lets some plans have handlers with an order, and events with a record in common. Everything else stays as drawn. */
export function drawOrder(seed: number, { handlers, faults, events }: Ordered): Ordered {
  const chance = new Chance(seed, 'order')
  if (!chance.happens(0.35)) return { handlers, faults, events }
  const isOneAccount = chance.happens(0.6)
  // Drawn by the handler's name: a deployment that does not change it keeps its order.
  const order = (list: readonly HandlerPlan[]) =>
    list.map((plan) => ({
      ...plan,
      isOrdered: plan.pattern !== 'sync.completed' && new Chance(seed, 'order of', nameOf(plan)).happens(0.8),
    }))
  return {
    handlers: order(handlers),
    faults: faults.map((fault) => (fault.kind === 'deploy' ? { ...fault, handlers: order(fault.handlers) } : fault)),
    events: events.map((event) => {
      const own = new Chance(seed, 'order of event', event.number)
      const { id } = nameEvent(event.number, false)
      return {
        ...event,
        ...(isOneAccount && { id, account: 'account-a' }),
        record: own.happens(0.85) ? 'record-a' : 'record-b',
        timestamp: drawTime(own),
      }
    }),
  }
}

function drawTime(chance: Chance): string {
  const minute = chance.int(0, 5)
  return chance.weigh(
    [70, `2025-01-01T00:0${minute}:00.000Z`],
    [12, `2025-01-01T02:0${minute}:00+02:00`],
    [12, `2024-12-31T23:0${minute}:00.000999-01:00`],
    [6, chance.pick(NO_TIMES)],
  )
}
