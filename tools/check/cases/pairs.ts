import type { Scene, TestDelivery, TestEvent } from '../case.ts'
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

/** Makes the two events, and deliveries whose last bytes arrive at the same moment. Creates the record before, if it has to be known. */
export async function makePair({ make, send }: Pick<Scene, 'make' | 'send'>, pair: Pair) {
  const { model, isKnown, actions, isReversed } = pair
  const creation = make.event({ type: `${model}.created`, timestamp: ago(3_000) })
  if (isKnown) await send(make.delivery(creation))
  const record = recordOf(creation)
  const toEvent = (action: string, at: number): TestEvent => {
    const changed = { ...record, lastName: ['First', 'Second'][at] ?? '' }
    const data = { record: action === 'deleted' ? { _id: record?._id } : changed }
    return make.event({ type: `${model}.${action}`, timestamp: ago(2_000 - at * 1_000), data })
  }
  const [earlier, later] = [toEvent(actions[0], 0), toEvent(actions[1], 1)]
  const ordered = isReversed ? [later, earlier] : [earlier, later]
  const deliveries: readonly TestDelivery[] = ordered.map((event) => make.delivery(event, { toParts: holdBack }))
  return { creation, earlier, later, deliveries }
}

const ago = (ms: number) => new Date(Date.now() - ms).toISOString()
