import {
  ACCOUNTS,
  type Behaviour,
  type DirectTheme,
  type EventPlan,
  type HandlerPlan,
  handlersOf,
  type IntruderPlan,
  nameOf,
  SCHEMA,
  type SecretsPlan,
  type SettingsPlan,
  type TroublePlan,
} from './plan.ts'
import { Chance } from './random.ts'

interface Frame {
  readonly theme: DirectTheme
  readonly settings: SettingsPlan
  readonly versions: readonly (readonly HandlerPlan[])[]
  readonly spreadMs: number
}

const TYPES = ['contact.created', 'contact.updated', 'contact.deleted', 'invoice.created', 'sync.completed'] as const
/** Only the pattern `*` matches this one. */
const UNUSUAL_TYPE = 'export.completed'

/** Draws the events of a run, with all faults during their handling. */
export function drawEvents(seed: number, frame: Frame): readonly EventPlan[] {
  const chance = new Chance(seed, 'events')
  const { theme } = frame
  const habits: Habits = {
    troubleRate: theme === 'anything' ? chance.weigh([20, 0], [50, 0.15], [30, 0.5]) : 0.8,
    palette: chance.list(1, theme === 'contention' ? 2 : 4, () => chance.pick(PALETTES[theme])),
    lossRate: chance.weigh([60, 0], [30, 0.1], [10, 0.4]),
    mutationRate: chance.weigh([70, 0], [30, 0.4]),
  }
  return chance.list(1, theme === 'anything' ? 12 : 4, (number) => {
    const own = new Chance(seed, 'event', number)
    const type = own.happens(0.08) ? UNUSUAL_TYPE : drawType(own, frame.versions)
    // Two accounts may use the same id: every third event takes the id of the one before it.
    const isTwin = number % 3 === 1
    const account = ACCOUNTS[number % 3] ?? ACCOUNTS[0]
    return {
      seed: own.int(0, 0xffffffff),
      ...nameEvent(number, isTwin),
      account,
      type,
      at: own.int(0, theme === 'contention' ? 4_000 : frame.spreadMs),
      duplicatesAfterMs: drawDuplicates(own, theme),
      lostAnswers: [0, 1, 2].filter(() => own.happens(habits.lossRate)),
      troubles: drawTroubles(own, type, habits, frame),
    }
  })
}

/** Draws a type that some handler accepts. */
export function drawType(chance: Chance, versions: Frame['versions']): string {
  const wanted = TYPES.filter((type) => versions.some((handlers) => handlersOf(handlers, type).length > 0))
  return wanted[chance.int(0, wanted.length - 1)] ?? chance.pick(TYPES)
}

/** Returns the identity of an event. A twin has the id of the event before it, which belongs to another account. */
export function nameEvent(number: number, isTwin: boolean): Pick<EventPlan, 'number' | 'id' | 'record' | 'timestamp'> {
  const id = `evt-${String(isTwin ? number - 1 : number).padStart(3, '0')}`
  return { number, id, record: `record-${number}`, timestamp: '2025-01-01T00:00:00.000Z' }
}

function drawDuplicates(chance: Chance, theme: DirectTheme): readonly number[] {
  if (theme === 'contention') return chance.list(4, 9, () => chance.int(0, 50_000))
  return chance.happens(0.3) ? chance.list(1, 3, () => drawDuplicate(chance)) : []
}

function drawDuplicate(chance: Chance): number {
  return chance.weigh(
    [40, chance.int(0, 20)],
    [40, chance.int(20, 40_000)],
    [15, chance.int(40_000, 10_000_000)],
    [5, chance.int(10_000_000, 200_000_000)],
  )
}

interface Habits {
  readonly troubleRate: number
  readonly palette: readonly (typeof TROUBLES)[number][]
  readonly lossRate: number
  readonly mutationRate: number
}

const TROUBLES = [
  'slow',
  'long',
  'very slow',
  'fails immediately',
  'fails',
  'fails late',
  'hangs',
  'obeys the abort',
  'succeeds after the abort',
  'fails after the abort',
  'ends after it was given up',
  'transaction',
  'transaction',
] as const

const PALETTES = {
  anything: TROUBLES,
  contention: ['long', 'long', 'long', 'very slow', 'fails late', 'ends after it was given up', 'transaction'],
  transactions: ['transaction', 'transaction', 'transaction', 'long', 'slow', 'fails', 'succeeds after the abort'],
} as const

function drawTroubles(chance: Chance, type: string, habits: Habits, frame: Frame): readonly TroublePlan[] {
  const names = new Set(frame.versions.flatMap((handlers) => handlersOf(handlers, type)).map(nameOf))
  const troubles: TroublePlan[] = []
  for (const handler of names)
    for (let run = 0; run < 4; run++) {
      const own = new Chance(chance.int(0, 0xffffffff), handler, run)
      const mutates = own.happens(habits.mutationRate)
      const isTrouble = own.happens(habits.troubleRate)
      const trouble = habits.palette[own.int(0, habits.palette.length - 1)] ?? 'fails'
      if (isTrouble) troubles.push({ handler, run, behaviour: drawBehaviour(own, trouble, frame.settings), mutates })
      else if (mutates) troubles.push({ handler, run, behaviour: { kind: 'succeeds', ms: own.int(0, 200) }, mutates })
    }
  if (frame.settings.schema !== 'none' && chance.happens(habits.troubleRate))
    troubles.push({
      handler: SCHEMA,
      run: chance.int(0, 1),
      behaviour: drawSchemaTrouble(chance, frame),
      mutates: false,
    })
  return troubles
}

function drawSchemaTrouble(chance: Chance, { settings }: Frame): Behaviour {
  return chance.pick<Behaviour>([
    { kind: 'refuses' },
    { kind: 'fails', ms: 0, thrown: chance.int(0, 9) },
    { kind: 'fails', ms: chance.int(1, 500), thrown: chance.int(0, 9) },
    { kind: 'succeeds', ms: chance.int(1, settings.deadlineMs * 2) },
    { kind: 'hangs' },
  ])
}

function drawBehaviour(chance: Chance, trouble: (typeof TROUBLES)[number], settings: SettingsPlan): Behaviour {
  const { deadlineMs, handlerTimeoutMs } = settings
  const thrown = chance.int(0, 9)
  switch (trouble) {
    case 'slow':
      return { kind: 'succeeds', ms: chance.int(300, deadlineMs) }
    case 'long':
      return { kind: 'succeeds', ms: chance.int(deadlineMs, deadlineMs + 30_000) }
    case 'very slow':
      return { kind: 'succeeds', ms: chance.int(handlerTimeoutMs - 4_000, handlerTimeoutMs + 4_500) }
    case 'fails immediately':
      return { kind: 'fails', ms: 0, thrown }
    case 'fails':
      return { kind: 'fails', ms: chance.int(1, 1_000), thrown }
    case 'fails late':
      return { kind: 'fails', ms: chance.int(deadlineMs - 500, deadlineMs + 20_000), thrown }
    case 'hangs':
      return { kind: 'hangs' }
    case 'obeys the abort':
      return { kind: 'obeys the abort' }
    case 'succeeds after the abort':
      return { kind: 'succeeds after the abort', ms: chance.int(0, 4_900) }
    case 'fails after the abort':
      return { kind: 'fails after the abort', ms: chance.int(0, 4_900) }
    case 'ends after it was given up':
      return { kind: chance.pick(['succeeds after the abort', 'fails after the abort']), ms: chance.int(5_100, 60_000) }
    case 'transaction':
      return chance.pick<Behaviour>([
        { kind: 'commits, then fails', ms: chance.int(0, 20_000) },
        { kind: 'commits, then hangs' },
        { kind: 'does not await its transaction', ms: 0, rollsBack: chance.happens(0.3) },
        { kind: 'does not await its transaction', ms: chance.int(0, 500), rollsBack: chance.happens(0.3) },
        { kind: 'rolls back' },
        { kind: 'works long in its transaction', ms: chance.int(1, handlerTimeoutMs + 20_000) },
        { kind: 'begins two transactions' },
      ])
  }
}

/** Draws deliveries that must be refused. */
export function drawIntruders(
  seed: number,
  events: readonly EventPlan[],
  { form, rotatesAt }: SecretsPlan,
  spreadMs: number,
): readonly IntruderPlan[] {
  const chance = new Chance(seed, 'intruders')
  if (!chance.happens(0.6)) return []
  const isBound = form === 'bound' || form === 'function of the account'
  const isRetired = form.startsWith('function') && rotatesAt !== undefined
  const kinds = [
    ...(['forged', 'forged duplicate', 'unsigned', 'tampered', 'malformed'] as const),
    ...(isBound ? (['other account', 'other account'] as const) : []),
    ...(isRetired ? (['retired secret'] as const) : []),
  ] as const
  return chance.list(1, 4, (number) => {
    const own = new Chance(seed, 'intruder', number)
    const kind = kinds[own.int(0, kinds.length - 1)] ?? 'forged'
    const at = kind === 'retired secret' ? (rotatesAt ?? 0) + own.int(70_000, 3_600_000) : own.int(0, spreadMs + 40_000)
    return { seed: own.int(0, 0xffffffff), number, kind, at, event: own.int(0, events.length - 1) }
  })
}
