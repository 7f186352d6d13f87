import type { Maker, Scene, TestDelivery, TestEvent } from '../case.ts'
import { recordOf } from '../work.ts'
import { holdBack } from './send-at-once.ts'

/** Two events of one record. */
export interface Pair {
  readonly name: string
  readonly model: string
  /** True if the record is created before. */
  readonly isKnown: boolean
  readonly actions: readonly [earlier: string, later: string]
  /** True if the later event is sent first. */
  readonly isReversed: boolean
}

const KINDS: readonly (readonly [isKnown: boolean, ...Pair['actions']])[] = [
  [false, 'created', 'updated'],
  [false, 'updated', 'updated'],
  [true, 'updated', 'updated'],
  [true, 'updated', 'deleted'],
]

/** Lists the pairs of a model. */
export function listPairs(model: string): readonly Pair[] {
  return KINDS.flatMap(([isKnown, ...actions]) =>
    [false, true].map((isReversed) => {
      const order = isReversed ? ', the later one first' : ''
      const name = `${actions.join(' and ')} of ${isKnown ? 'a known' : 'a new'} ${model}${order}`
      return { name, model, isKnown, actions, isReversed }
    }),
  )
}

/** Time of the first event within its second, and times from it to the second one: within the same second, and in the next. */
const [START_MS, SOON_MS, LATER_MS] = [100, 4, 1_000]

/** Makes the two events, and deliveries whose last bytes arrive at the same moment. Creates the record before, if it has to be known. */
export async function makePair({ make, send }: Pick<Scene, 'make' | 'send'>, pair: Pair) {
  const { model, isKnown, actions, isReversed } = pair
  const times = [START_MS, START_MS + (isReversed ? LATER_MS : SOON_MS)]
  const second = startSecond()
  const toTimestamp = (ms: number) => new Date(second + ms).toISOString()
  const creation = make.event({ type: `${model}.created`, timestamp: toTimestamp(-LATER_MS) })
  if (isKnown) await send(make.delivery(creation))
  const record = recordOf(creation)
  const toEvent = (action: string, at: number): TestEvent => {
    const changed = { ...record, lastName: ['First', 'Second'][at] ?? '' }
    const data = { record: action === 'deleted' ? { _id: record?._id } : changed }
    return make.event({ type: `${model}.${action}`, timestamp: toTimestamp(times[at] ?? 0), data })
  }
  const [earlier, later] = [toEvent(actions[0], 0), toEvent(actions[1], 1)]
  const ordered = isReversed ? [later, earlier] : [earlier, later]
  const deliveries: readonly TestDelivery[] = ordered.map((event) => make.delivery(event, { toParts: holdBack }))
  return { earlier, later, deliveries }
}

/** Returns the beginning of a whole second that has passed. */
function startSecond(): number {
  return Math.floor(Date.now() / 1_000 - 2) * 1_000
}

const EQUAL = 'with equal timestamps'
const OFFSET = 'with an offset and without'
/** Ends of the timestamps of events of one record that follow each other within a second, by what is special about them. */
const SEQUENCES: Readonly<Record<string, readonly string[]>> = {
  'a few milliseconds apart': ['.100Z', '.104Z', '.109Z'],
  'with fractions of 0, 1 and 2 digits': ['Z', '.1Z', '.15Z'],
  [EQUAL]: ['.1Z', '.1Z'],
  [OFFSET]: ['+02:00', '.1Z'],
}
export const KINDS_OF_SEQUENCES: readonly string[] = Object.keys(SEQUENCES)

/** Kinds that the service may never send. */
export const UNLIKELY_SEQUENCES: readonly string[] = [EQUAL, OFFSET]

const HOUR_MS = 3_600_000

/** Makes updates of one record, of which a third has the data of the first, and the creation of the record. */
export function makeSequence(make: Maker, model: string, kind: string) {
  const start = startSecond()
  const creation = make.event({ type: `${model}.created`, timestamp: new Date(start - LATER_MS).toISOString() })
  const events = (SEQUENCES[kind] ?? []).map((end, at) => {
    const hours = Number(/^\+(\d+)/.exec(end)?.[1] ?? 0)
    const second = new Date(start + hours * HOUR_MS).toISOString().replace(/\..*/, '')
    const record = { ...recordOf(creation), lastName: at === 1 ? 'Second' : 'First' }
    return make.event({ type: `${model}.updated`, timestamp: second + end, data: { record } })
  })
  return { creation, events }
}
