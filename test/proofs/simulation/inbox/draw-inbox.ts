import { drawIntruders } from '../draw-events.ts'
import { drawFaults, drawPartition } from '../draw-faults.ts'
import { drawHandlers } from '../draw-handlers.ts'
import { drawSecrets, drawSettings } from '../draw-plan.ts'
import type { EngineKind, Fate, FaultPlan, InboxMethod, Plan, SettingsPlan } from '../plan.ts'
import { Chance } from '../random.ts'
import { drawInboxEvents, isDeployedOften } from './draw-inbox-events.ts'
import type { InboxAct, OncePlan, Role, WorkPlan } from './inbox-plan.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const WEEK_MS = 7 * DAY_MS

/** Draws the plan of a seed for receivers with an inbox. Every part has its own source of chance. */
export function drawInboxPlan(seed: number): Plan {
  const chance = new Chance(seed, 'inbox plan')
  const engine = chance.weigh<EngineKind>([45, 'network'], [15, 'transactions'], [40, 'shared file'])
  const settings = drawSettings(new Chance(seed, 'inbox settings'))
  const roles = drawRoles(chance)
  const handlers = drawHandlers(new Chance(seed, 'inbox handlers'), engine, 'inbox')
  const secrets = drawSecrets(new Chance(seed, 'inbox secrets'))
  const spreadMs = chance.weigh([50, 2_000], [30, 20_000], [20, 120_000])
  const frame = { theme: 'inbox', engine, settings, processes: roles.length, handlers, spreadMs, secrets } as const
  const faults = [
    ...drawFaults(seed, frame),
    ...drawInboxCalls(seed, engine, roles.length, spreadMs),
    ...drawLosses(seed, engine, roles.length, spreadMs),
    ...drawDeployments(seed, roles),
  ]
  const versions = [handlers, ...faults.flatMap((fault) => (fault.kind === 'deploy' ? [fault.handlers] : []))]
  const events = drawInboxEvents(seed, { settings, versions, spreadMs })
  const skews = new Chance(seed, 'inbox skews')
  return {
    seed,
    theme: 'inbox',
    engine,
    settings,
    inbox: {
      roles,
      work: drawWork(chance, settings),
      ...drawOnce(seed),
      acts: drawActs(seed, events.length, roles.length, spreadMs),
    },
    secrets,
    clockSkewsMs: roles.map(() => (skews.happens(0.2) ? skews.int(-HOUR_MS, HOUR_MS) : 0)),
    handlers,
    events,
    intruders: drawIntruders(seed, events, secrets, spreadMs),
    faults,
  }
}

/** At least one process accepts and at least one works. */
function drawRoles(chance: Chance): readonly Role[] {
  return chance.weigh<readonly Role[]>(
    [15, ['does both']],
    [30, ['does both', 'does both']],
    [20, ['accepts', 'works']],
    [15, ['accepts', 'works', 'works']],
    [20, ['does both', 'works', 'does both']],
  )
}

function drawWork(chance: Chance, { retentionMs }: SettingsPlan): WorkPlan {
  const concurrency = chance.weigh([25, 1], [25, 2], [25, 4], [25, 10])
  if (retentionMs === WEEK_MS && chance.happens(0.4)) return { concurrency, attempts: 10, delaysMs: undefined }
  const attempts = chance.weigh([10, 1], [30, 2], [40, 4], [20, 8])
  const longestMs = chance.pick([0, 2_000, 60_000, 600_000])
  return { concurrency, attempts, delaysMs: chance.list(attempts - 1, attempts - 1, () => chance.int(0, longestMs)) }
}

function drawOnce(seed: number): { readonly once?: OncePlan } {
  const chance = new Chance(seed, 'inbox once')
  if (!chance.happens(0.2)) return {}
  const forMs = chance.weigh([30, chance.int(2_000, 10_000)], [30, 20_000], [40, 50_000])
  return { once: { forMs, max: chance.weigh([60, undefined], [40, chance.int(1, 8)]), pauseMs: chance.int(0, 30_000) } }
}

/** Draws the fate of single calls of the inbox. An engine in the process itself has no network. */
function drawInboxCalls(seed: number, engine: EngineKind, processes: number, spreadMs: number): readonly FaultPlan[] {
  const chance = new Chance(seed, 'inbox calls')
  if (engine === 'shared file' || !chance.happens(0.5)) return []
  return chance.list(1, 6, () => ({
    kind: 'call',
    process: chance.int(0, processes - 1),
    at: chance.int(0, spreadMs),
    method: chance.pick<InboxMethod>(['put', 'put', 'take', 'take', 'keep', 'settle', 'settle', 'settle']),
    nth: chance.weigh([60, 0], [40, chance.int(1, 6)]),
    fate: drawFate(chance),
  }))
}

/** Draws faults that cost a living process its items: it is suspended for long, or cannot reach the engine. */
function drawLosses(seed: number, engine: EngineKind, processes: number, spreadMs: number): readonly FaultPlan[] {
  const chance = new Chance(seed, 'inbox losses')
  if (!chance.happens(0.3)) return []
  return chance.list(1, 2, () => {
    const process = chance.int(0, processes - 1)
    if (engine !== 'shared file' && chance.happens(0.5)) return drawPartition(chance, process)
    const step = chance.happens(0.5) ? chance.int(1, 12) : undefined
    return { kind: 'stall', process, at: chance.int(0, spreadMs + 10_000), step, ms: chance.int(12_000, 60_000) }
  })
}

/** Draws a process that is killed again and again, as by deployments that do not wait, while slow handlers run. */
function drawDeployments(seed: number, roles: readonly Role[]): readonly FaultPlan[] {
  if (!isDeployedOften(seed)) return []
  const chance = new Chance(seed, 'inbox deployments')
  const process = roles.findIndex((role) => role !== 'accepts')
  let at = 0
  return chance.list(3, 8, () => {
    at += chance.int(3_000, 45_000)
    return { kind: 'kill', process, at, step: undefined, downMs: chance.int(1, 2_000) }
  })
}

function drawFate(chance: Chance): Fate {
  const kind = chance.pick(['request lost', 'answer lost', 'cut before', 'request late', 'answer late', 'doubled'])
  if (kind === 'request lost' || kind === 'answer lost' || kind === 'cut before') return { kind }
  return { kind, ms: chance.int(50, 30_000) }
}

function drawActs(seed: number, events: number, processes: number, spreadMs: number): readonly InboxAct[] {
  const chance = new Chance(seed, 'inbox acts')
  const at = () =>
    chance.weigh(
      [50, chance.int(0, spreadMs + 20_000)],
      [30, chance.int(0, 600_000)],
      [15, chance.int(0, DAY_MS)],
      [5, chance.int(WEEK_MS, WEEK_MS + DAY_MS)],
    )
  const draw = (kind: InboxAct['kind']): InboxAct => {
    const process = chance.int(0, processes - 1)
    switch (kind) {
      case 'replay':
      case 'drop':
        return { kind, at: at(), event: chance.int(0, events - 1) }
      case 'replay all':
        return { kind, at: chance.weigh([60, at()], [40, 3 * HOUR_MS + chance.int(0, 3 * DAY_MS)]) }
      case 'close worker':
        return {
          kind,
          at: at(),
          process,
          timeoutMs: chance.weigh([50, 10_000], [50, chance.int(0, 3_000)]),
          againMs: chance.int(0, 5_000),
        }
      case 'wall clock':
        return { kind, at: at(), process, byMs: chance.pick([-7_200_000, -3_000, 500, 9_000, HOUR_MS]) }
    }
  }
  const kinds = [
    ...(chance.happens(0.3) ? chance.list(1, 5, () => 'replay' as const) : []),
    ...(chance.happens(0.15) ? chance.list(1, 3, () => 'drop' as const) : []),
    ...(chance.happens(0.4) ? chance.list(1, 2, () => 'replay all' as const) : []),
    ...(chance.happens(0.35) ? chance.list(1, 4, () => 'close worker' as const) : []),
    ...(chance.happens(0.2) ? chance.list(1, 2, () => 'wall clock' as const) : []),
  ]
  return kinds.map(draw)
}
