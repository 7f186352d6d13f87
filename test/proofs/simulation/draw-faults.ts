import { redeploy } from './draw-handlers.ts'
import type {
  EngineKind,
  Fate,
  FaultKind,
  FaultPlan,
  HandlerPlan,
  Method,
  SecretsPlan,
  SettingsPlan,
  Theme,
} from './plan.ts'
import { Chance } from './random.ts'
import { bearableMs } from './tolerance.ts'

interface Frame {
  readonly theme: Theme
  readonly engine: EngineKind
  readonly settings: SettingsPlan
  readonly processes: number
  readonly handlers: readonly HandlerPlan[]
  readonly secrets: SecretsPlan
  readonly spreadMs: number
}

/** `mild` faults never cost a healthy process its lease; `rough` ones may. */
type Mood = 'calm' | 'mild' | 'rough'

/** The times, after an event's first attempt, at which the sender retries. */
const ATTEMPTS_AT = [
  [70, 0],
  [12, 30_000],
  [8, 330_000],
  [5, 2_130_000],
  [5, 9_330_000],
] as const

/** Share of the runs in which each kind of fault occurs. */
const PROBABILITIES = {
  kill: 0.3,
  close: 0.25,
  deploy: 0.3,
  stall: 0.4,
  'clock jump': 0.3,
  call: 0.5,
  network: 0.35,
  freeze: 0.25,
  restart: 0.25,
  refuse: 0.25,
  secrets: 0.3,
} as const satisfies Readonly<Partial<Record<FaultKind, number>>>

type DrawnKind = keyof typeof PROBABILITIES

/** Draws the faults of a run: a few kinds of them, often of one kind only, so that many runs are calm in most respects. */
export function drawFaults(seed: number, frame: Frame): readonly FaultPlan[] {
  const chance = new Chance(seed, 'faults')
  const isContended = frame.theme === 'contention'
  const mood = chance.weigh<Mood>(
    [isContended ? 0 : 15, 'calm'],
    [isContended ? 20 : 50, 'mild'],
    [isContended ? 60 : 35, 'rough'],
  )
  if (mood === 'calm') return []
  const kinds = possibleKinds(frame).filter((kind) => chance.happens(PROBABILITIES[kind]))
  const faults: FaultPlan[] = []
  let handlers = frame.handlers
  for (const kind of kinds) {
    const most = kind === 'deploy' || kind === 'secrets' ? 2 : kind === 'call' ? 6 : 4
    const count = chance.int(1, most)
    for (let number = 0; number < count; number++) {
      const own = new Chance(seed, 'fault', kind, number)
      const fault = drawFault(own, kind, mood, frame, handlers)
      if (fault.kind === 'deploy') handlers = fault.handlers
      faults.push(fault)
    }
  }
  if (isContended && mood === 'rough') faults.push(drawPartition(chance, chance.int(0, frame.processes - 1)))
  // Each version of the code follows from the one before it.
  const deploys = faults.filter(({ kind }) => kind === 'deploy').toSorted((a, b) => a.at - b.at)
  return [...faults.filter(({ kind }) => kind !== 'deploy'), ...deploys, ...drawLosses(seed, frame)]
}

/** Draws what an engine loses: seldom, since much is excused then. */
function drawLosses(seed: number, frame: Frame): readonly FaultPlan[] {
  const chance = new Chance(seed, 'losses')
  if ((frame.engine !== 'network' && frame.engine !== 'transactions') || !chance.happens(0.1)) return []
  return chance.list(1, 3, () => {
    const at = drawTime(chance, frame)
    if (frame.engine === 'network' && chance.happens(0.4))
      return { kind: 'evict', at, seed: chance.int(0, 0xffffffff), share: chance.pick([0.2, 1]) }
    const lostMs = chance.weigh([60, chance.int(1, 1_000)], [40, chance.int(1_000, 20_000)])
    return { kind: 'lose', at, ms: chance.int(20, 2_000), lostMs }
  })
}

function possibleKinds({ engine, secrets }: Frame): readonly DrawnKind[] {
  const always = ['kill', 'close', 'deploy', 'stall', 'clock jump'] as const
  return [
    ...always,
    ...(engine === 'memory' ? [] : (['freeze', 'restart', 'refuse'] as const)),
    ...(engine === 'memory' || engine === 'shared file' ? [] : (['network', 'call'] as const)),
    ...(secrets.form.startsWith('function') ? (['secrets'] as const) : []),
  ]
}

function drawTime(chance: Chance, { spreadMs }: Frame): number {
  return chance.weigh<number>(...ATTEMPTS_AT) + chance.int(0, spreadMs + 15_000)
}

function drawFault(
  chance: Chance,
  kind: DrawnKind,
  mood: Mood,
  frame: Frame,
  handlers: readonly HandlerPlan[],
): FaultPlan {
  const at = drawTime(chance, frame)
  const process = chance.int(0, frame.processes - 1)
  const { leaseMs } = frame.settings
  const shortMs = chance.int(20, bearableMs(leaseMs))
  const longMs =
    mood === 'rough' ? chance.weigh([50, chance.int(3_000, 15_000)], [50, chance.int(15_000, 100_000)]) : shortMs
  const ms = chance.happens(0.5) ? shortMs : longMs
  switch (kind) {
    case 'kill': {
      const step = chance.happens(0.7) ? chance.int(1, 12) : undefined
      return {
        kind,
        process,
        at,
        step,
        downMs: chance.weigh([60, chance.int(1, 3_000)], [40, chance.int(3_000, 60_000)]),
      }
    }
    case 'close':
      return {
        kind,
        process,
        at,
        timeoutMs: chance.weigh([70, 10_000], [30, chance.int(0, 3_000)]),
        listensMs: chance.int(0, 2_000),
        downMs: chance.int(1, 5_000),
      }
    case 'stall': {
      const most = mood === 'rough' ? 12_000 : Math.floor(bearableMs(leaseMs))
      return { kind, process, at, step: chance.happens(0.5) ? chance.int(1, 12) : undefined, ms: chance.int(50, most) }
    }
    case 'clock jump':
      return { kind, process, at, byMs: chance.pick([-7_200_000, -3_000, -1_000, 500, 9_000, 86_400_000]) }
    case 'call':
      return {
        kind,
        process,
        at: chance.int(0, frame.spreadMs),
        ...drawCall(chance, frame),
        fate: drawFate(chance, mood),
      }
    case 'network': {
      const fates = chance.list(1, 2, () => drawFate(chance, mood))
      const probability = chance.pick([0.2, 0.5, 1])
      const windowMs = Math.min(ms, 60_000)
      return {
        kind,
        process,
        at,
        ms: windowMs,
        seed: chance.int(0, 0xffffffff),
        probability,
        fates: [drawFate(chance, mood), ...fates],
      }
    }
    case 'deploy':
      return { kind, at, handlers: redeploy(chance, handlers, frame.engine), isGraceful: chance.happens(0.8) }
    case 'freeze':
    case 'restart':
    case 'refuse':
      return { kind, at, ms }
    case 'secrets':
      return { kind, at, ms: chance.int(100, 20_000), how: chance.pick(['throws', 'hangs', 'is slow']) }
  }
}

function drawCall(chance: Chance, { engine }: Frame): { readonly method: Method | 'any'; readonly nth: number } {
  const methods = ['claim', 'claim', 'renew', 'complete', 'complete', 'release', 'release', 'release'] as const
  const method = chance.pick(engine === 'transactions' ? [...methods, 'begin', 'write', 'commit', 'commit'] : methods)
  return chance.happens(0.2)
    ? { method: 'any', nth: chance.int(0, 15) }
    : { method, nth: chance.weigh([70, 0], [30, chance.int(1, 4)]) }
}

/** Draws a partition: a process cannot reach the engine for longer than its lease, and its settlements meanwhile arrive late. */
export function drawPartition(chance: Chance, process: number): FaultPlan {
  return {
    kind: 'network',
    process,
    at: chance.int(0, 8_000),
    ms: chance.int(16_000, 45_000),
    seed: chance.int(0, 0xffffffff),
    probability: 1,
    fates: [{ kind: chance.pick(['request lost', 'cut before']) }],
    settling: { kind: 'request late', ms: chance.int(1_000, 40_000) },
  }
}

function drawFate(chance: Chance, mood: Mood): Fate {
  const kind = chance.pick([
    'request lost',
    'request lost',
    'answer lost',
    'cut before',
    'cut before',
    'request late',
    'answer late',
    'answer late',
    'doubled',
    'cut, carried out later',
  ])
  if (kind === 'request lost' || kind === 'answer lost' || kind === 'cut before') return { kind }
  return { kind, ms: chance.int(50, mood === 'rough' ? 30_000 : 7_000) }
}
