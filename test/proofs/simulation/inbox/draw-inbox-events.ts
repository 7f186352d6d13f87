import { drawType, nameEvent } from '../draw-events.ts'
import {
  ACCOUNTS,
  type Behaviour,
  type EventPlan,
  type HandlerPlan,
  handlersOf,
  nameOf,
  SCHEMA,
  type SettingsPlan,
  type TroublePlan,
} from '../plan.ts'
import { Chance } from '../random.ts'

interface Frame {
  readonly settings: SettingsPlan
  readonly versions: readonly (readonly HandlerPlan[])[]
  readonly spreadMs: number
}

/** The fate of an event if nothing else goes wrong. */
const CHARACTERS = ['fine', 'slow', 'flaky', 'hopeless', 'buried', 'put off', 'killer'] as const
type Character = (typeof CHARACTERS)[number]

/** More runs than any event has: a killer kills each time, a hopeless one always fails. */
const ALL_RUNS = 14

export function isDeployedOften(seed: number): boolean {
  return new Chance(seed, 'inbox is deployed often').happens(0.1)
}

/** Draws the events of a run: a few, or the flood of one account beside a few of others. */
export function drawInboxEvents(seed: number, frame: Frame): readonly EventPlan[] {
  const chance = new Chance(seed, 'inbox events')
  const flood = chance.happens(0.25) ? chance.int(20, 50) : 0
  const isKilling = chance.happens(0.3)
  return chance.list(flood + 1, flood + 10, (number) => {
    const own = new Chance(seed, 'inbox event', number)
    const isSlow = isDeployedOften(seed) && number % 2 === 0
    const isFlood = number < flood
    const type = drawType(own, frame.versions)
    const isTwin = own.happens(0.2) && number > flood
    const account = isFlood ? ACCOUNTS[0] : (ACCOUNTS[1 + (number % 2)] ?? ACCOUNTS[0])
    const character = own.weigh<Character>(
      [isFlood ? 300 : 40, 'fine'],
      [25, 'flaky'],
      [8, 'hopeless'],
      [10, 'buried'],
      [12, 'put off'],
      [isKilling ? 12 : 0, 'killer'],
    )
    return {
      seed: own.int(0, 0xffffffff),
      ...nameEvent(number, isTwin),
      account,
      type,
      at: isFlood ? own.int(0, 300) : own.int(0, frame.spreadMs),
      duplicatesAfterMs: isFlood ? [] : drawDuplicates(own),
      lostAnswers: own.happens(0.1) ? [0] : [],
      troubles: drawTroubles(own, type, isSlow ? 'slow' : character, frame, isFlood),
    }
  })
}

function drawDuplicates(chance: Chance): readonly number[] {
  if (!chance.happens(0.5)) return []
  return chance.list(1, 4, () =>
    chance.weigh(
      [30, chance.int(0, 50)],
      [40, chance.int(50, 60_000)],
      [20, chance.int(60_000, 3_600_000)],
      [10, chance.int(3_600_000, 200_000_000)],
    ),
  )
}

function drawTroubles(
  chance: Chance,
  type: string,
  character: Character,
  frame: Frame,
  isFlood: boolean,
): readonly TroublePlan[] {
  const names = [...new Set(frame.versions.flatMap((handlers) => handlersOf(handlers, type)).map(nameOf))]
  const guilty = names[chance.int(0, names.length - 1)]
  const troubles: TroublePlan[] = []
  for (const handler of names)
    for (let run = 0; run < ALL_RUNS; run++) {
      const own = new Chance(chance.int(0, 0xffffffff), handler, run)
      const isGuilty = handler === guilty || own.happens(0.1)
      const behaviour = isGuilty ? drawBehaviour(own, character, run, frame) : drawUsual(own, isFlood, frame)
      if (behaviour !== undefined) troubles.push({ handler, run, behaviour, mutates: false })
    }
  if (frame.settings.schema !== 'none' && chance.happens(0.15)) {
    const behaviour = chance.pick<Behaviour>([
      { kind: 'refuses' },
      { kind: 'fails', ms: 1, thrown: 0 },
      { kind: 'hangs' },
    ])
    troubles.push({ handler: SCHEMA, run: chance.int(0, 1), behaviour, mutates: false })
  }
  return troubles
}

/** Most handlers take a while: those of a backlog longer. */
function drawUsual(chance: Chance, isFlood: boolean, { settings }: Frame): Behaviour | undefined {
  if (isFlood) return { kind: 'succeeds', ms: chance.int(100, 1_000) }
  const longMs = chance.weigh([80, 1_500], [15, 20_000], [5, settings.handlerTimeoutMs])
  return chance.happens(0.3) ? { kind: 'succeeds', ms: chance.int(200, longMs) } : undefined
}

function drawBehaviour(chance: Chance, character: Character, run: number, frame: Frame): Behaviour | undefined {
  const ms = chance.weigh([30, 0], [60, chance.int(1, 1_000)], [10, chance.int(1_000, 25_000)])
  switch (character) {
    case 'fine':
      return drawUsual(chance, false, frame)
    case 'slow':
      return { kind: 'succeeds', ms: chance.int(1_000, frame.settings.handlerTimeoutMs - 1_000) }
    case 'flaky':
      return run > 3 || chance.happens(0.4) ? undefined : drawFailure(chance, ms)
    case 'hopeless':
      return { kind: 'fails', ms, thrown: chance.int(0, 9) }
    case 'buried':
      return chance.happens(0.7) ? { kind: 'throws DeadLetter', ms } : drawFailure(chance, ms)
    case 'put off': {
      const delayMs = chance.weigh([20, 0], [60, chance.int(1, 60_000)], [20, chance.int(60_000, 14_400_000)])
      return run > 6 || chance.happens(0.2) ? undefined : { kind: 'throws RetryLater', ms, delayMs }
    }
    case 'killer':
      return { kind: 'kills its process', ms: chance.int(1, 2_000) }
  }
}

function drawFailure(chance: Chance, ms: number): Behaviour {
  return chance.weigh<Behaviour>(
    [55, { kind: 'fails', ms, thrown: chance.int(0, 9) }],
    [10, { kind: 'hangs' }],
    [10, { kind: 'obeys the abort' }],
    [10, { kind: 'succeeds after the abort', ms: chance.int(0, 4_900) }],
    [5, { kind: 'fails after the abort', ms: chance.int(5_100, 20_000) }],
    [10, { kind: 'commits, then fails', ms }],
  )
}
