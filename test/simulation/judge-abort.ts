import type { HandlerRun } from './facts.ts'
import type { Life } from './life.ts'
import type { World } from './world.ts'

/** Tolerance of timers. */
const SLACK_MS = 50

/** Checks that a handler was aborted at its time limit, or because another process took its event: not at the deadline. */
export function judgeAbort(world: World, life: Life, run: HandlerRun, reason: unknown): void {
  const { plan, findings, now } = world
  const { code } = Object(reason) as { readonly code?: unknown } // whatever it is
  const { event, handler, grant, beganAt, stalledMs } = run
  const what = `${handler} of event ${event.number} in ${life.name}`
  if (code === 'worker_closed') return judgeWorkerClosed(world, life, what)
  if (code !== 'handler_timeout' && code !== 'lease_lost')
    findings.add('aborted at the wrong time', `${what} was aborted with the code ${String(code)}`)
  const { handlerTimeoutMs } = plan.settings
  const ranMs = now - (grant?.answeredAt ?? beganAt)
  if (code === 'handler_timeout' && ranMs < handlerTimeoutMs - SLACK_MS)
    findings.add('aborted at the wrong time', `${what} was aborted after ${ranMs} ms of ${handlerTimeoutMs}`)
  if (now - beganAt - (life.stalledMs - stalledMs) > handlerTimeoutMs + SLACK_MS)
    findings.add('aborted at the wrong time', `${what} was aborted only after ${now - beganAt} ms`)
}

/** Checks that a worker's runs are aborted when its time to close is over, and not before. */
function judgeWorkerClosed({ findings, now }: World, { workAborts }: Life, what: string): void {
  if (!workAborts.some((at) => now >= at - SLACK_MS))
    findings.add('aborted at the wrong time', `${what} was aborted as if its worker were closed`)
}
