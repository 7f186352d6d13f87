import type { ApiCall } from '../../inspector/shapes.ts'
import { writeTime } from '../http/describe.ts'
import type { Service } from '../service.ts'

const MOST_CALLS = 500

export class CallLog {
  readonly #calls: ApiCall[] = []

  constructor({ feed, clock }: Pick<Service, 'feed' | 'clock'>) {
    let count = 0
    feed.subscribe((message) => {
      if (message.type === 'reset') this.#calls.length = 0
      if (message.type !== 'call') return
      const { method, path, status, accountKey: account = null, rateRemaining = null } = message
      this.#calls.push({ id: ++count, at: writeTime(clock.now()), method, path, status, account, rateRemaining })
      if (this.#calls.length > MOST_CALLS) this.#calls.shift()
    })
  }

  list(): readonly ApiCall[] {
    return this.#calls.toReversed()
  }

  /** Returns the latest call: in a listener that was added later, the one that a message reports. */
  get latest(): ApiCall | undefined {
    return this.#calls.at(-1)
  }
}
