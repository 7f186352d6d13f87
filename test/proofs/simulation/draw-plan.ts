import { drawEvents, drawIntruders } from './draw-events.ts'
import { drawFaults } from './draw-faults.ts'
import { drawHandlers } from './draw-handlers.ts'
import { drawOrder } from './draw-order.ts'
import type { DirectTheme, EngineKind, InterceptorKind, Plan, SecretsPlan, SettingsPlan } from './plan.ts'
import { Chance } from './random.ts'

/** Draws the plan of a seed. Every part has its own source of chance. */
export function drawPlan(seed: number): Plan {
  const chance = new Chance(seed, 'plan')
  const theme = chance.weigh<DirectTheme>([50, 'anything'], [35, 'contention'], [15, 'transactions'])
  const engine = drawEngine(chance, theme)
  const settings = drawSettings(new Chance(seed, 'settings'))
  const processes =
    engine === 'memory' ? 1 : chance.weigh([theme === 'contention' ? 0 : 15, 1], [40, 2], [30, 3], [15, 4])
  const skews = new Chance(seed, 'skews')
  const handlers = drawHandlers(new Chance(seed, 'handlers'), engine, theme)
  const secrets = drawSecrets(new Chance(seed, 'secrets'))
  const spreadMs = chance.weigh([30, 500], [40, 10_000], [30, 60_000])
  const faults = drawFaults(seed, { theme, engine, settings, processes, handlers, spreadMs, secrets })
  const versions = [handlers, ...faults.flatMap((fault) => (fault.kind === 'deploy' ? [fault.handlers] : []))]
  const drawn = drawEvents(seed, { theme, settings, versions, spreadMs })
  const ordered = drawOrder(seed, { handlers, faults, events: drawn })
  return {
    seed,
    theme,
    engine,
    settings,
    inbox: undefined,
    secrets,
    clockSkewsMs: Array.from({ length: processes }, () => (skews.happens(0.3) ? skews.int(-3_600_000, 3_600_000) : 0)),
    ...ordered,
    intruders: drawIntruders(seed, drawn, secrets, spreadMs),
  }
}

function drawEngine(chance: Chance, theme: DirectTheme): EngineKind {
  if (theme === 'transactions') return chance.weigh<EngineKind>([80, 'transactions'], [20, 'shared file'])
  if (theme === 'contention') return chance.weigh<EngineKind>([45, 'network'], [40, 'transactions'], [15, 'memory'])
  return chance.weigh<EngineKind>([65, 'network'], [10, 'transactions'], [10, 'shared file'], [15, 'memory'])
}

/** Draws the options of the receivers. */
export function drawSettings(chance: Chance): SettingsPlan {
  return {
    leaseMs: chance.weigh([70, 15_000], [15, 12_000], [15, 25_000]),
    deadlineMs: chance.weigh([70, 8_000], [15, 9_500], [15, 2_000]),
    handlerTimeoutMs: chance.weigh([60, 60_000], [20, 20_000], [20, 5_000]),
    retentionMs: chance.weigh([80, 604_800_000], [20, 3 * 3_600_000]),
    maxInFlight: chance.weigh([80, 1_000], [20, 3]),
    memoryMax: chance.weigh([80, 500], [20, 3]),
    latencyMs: chance.weigh([50, 3], [40, 40], [10, 300]),
    timersFirst: chance.happens(0.5),
    schema: chance.weigh<SettingsPlan['schema']>([60, 'none'], [20, 'sync'], [20, 'async']),
    interceptor: chance.weigh<InterceptorKind>(
      [70, 'none'],
      [15, 'returns it'],
      [15, 'awaits it'],
      [5, 'forgets it'],
      [5, 'calls it twice'],
      [5, 'skips it'],
    ),
    isOwnerClumsy: chance.happens(0.1),
  }
}

/** Draws the form of the secrets, and the times of their rotation. */
export function drawSecrets(chance: Chance): SecretsPlan {
  const form = chance.pick(['one', 'list', 'bound', 'function', 'function of the account'])
  const rotatesAt = chance.int(1_000, 400_000)
  return {
    form,
    isAsync: chance.happens(0.5),
    rotatesAt: form !== 'one' && chance.happens(0.4) ? rotatesAt : undefined,
  }
}
