import { drawPlan } from './draw-plan.ts'
import { drawInboxPlan } from './inbox/draw-inbox.ts'
import type { Plan } from './plan.ts'

/** The two worlds of a seed: handlers run before the answer, or an inbox accepts the event. */
export type WorldName = 'direct' | 'inbox'

/** Draws the plan of a seed in one of the worlds. */
export function drawIn(world: WorldName, seed: number): Plan {
  return world === 'inbox' ? drawInboxPlan(seed) : drawPlan(seed)
}
