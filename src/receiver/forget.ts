import { PosternError } from '../protocol/errors.ts'
import type { WebhookEvent } from '../protocol/events.ts'
import { OptionChecker } from '../protocol/option-checker.ts'
import { STORE_LIMIT_MS } from '../protocol/schedule.ts'
import { show } from '../protocol/show.ts'
import { callStore, StoreFailure, toBoolean } from './lease.ts'
import type { Shared } from './shared.ts'

const check = new OptionChecker('receiver.forget')

/** Makes the store forget an event. Rejects with the errors of `Receiver.forget`. */
export async function forget(shared: Shared, event: Pick<WebhookEvent, 'accountKey' | 'id'>): Promise<boolean> {
  check.mustBeObject(event, "{ accountKey: 'acme', id: 'evt_1' }")
  for (const name of ['accountKey', 'id'] as const)
    if (typeof event[name] !== 'string' || event[name] === '')
      throw check.invalid(`${name} is ${show(event[name])}; give the text that is in the event.`)
  const { store } = shared.settings
  if (store.forget === undefined)
    throw check.invalid(
      'the store has no method forget(). The stores of this package have it; a custom one may add it.',
    )
  const key = shared.toKey(event.accountKey, event.id)
  const answer = await callStore(shared, STORE_LIMIT_MS, () => store.forget?.(key), toBoolean)
  if (!(answer instanceof StoreFailure)) return answer
  const message = 'store.forget() failed or did not answer in time; the event may be forgotten or not. Call it again.'
  throw new PosternError('store_unavailable', message, { cause: answer.cause })
}
