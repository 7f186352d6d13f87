import type { ApiCall } from '../../inspector/shapes.ts'
import type { FeedMessage } from '../feed.ts'
import { writeTime } from '../http/describe.ts'
import type { Service } from '../service.ts'

const MOST_CALLS = 500

export class CallLog {
  readonly #calls: ApiCall[] = []
  /** Calls by the message that reported them, so that every listener finds the same id. */
  readonly #byMessage = new WeakMap<FeedMessage, ApiCall>()

  constructor({ feed, clock }: Pick<Service, 'feed' | 'clock'>) {
    let count = 0
    feed.subscribe((message) => {
      if (message.type === 'reset') this.#calls.length = 0
      if (message.type !== 'call') return
      const { method, path, status, accountKey: account = null, rateRemaining = null } = message
      const call = { id: ++count, at: writeTime(clock.now()), method, path, status, account, rateRemaining }
      this.#byMessage.set(message, call)
      this.#calls.push(call)
      if (this.#calls.length > MOST_CALLS) this.#calls.shift()
    })
  }

  list(): readonly ApiCall[] {
    return this.#calls.toReversed()
  }

  find(message: FeedMessage): ApiCall | undefined {
    return this.#byMessage.get(message)
  }
}
