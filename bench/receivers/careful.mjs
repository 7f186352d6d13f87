/** A careful developer's receiver by hand: signature, duplicates, and a schema for the record. */
import { LRUCache } from 'lru-cache'
import * as z from 'zod'
import { isSigned } from './by-hand.mjs'

const text = z.string().nullish()
const contact = z.object({ _id: z.string(), firstName: text, lastName: text, email: text, status: text })

/** Returns a function of body and header that returns the status of the answer. */
export function createCareful(onEvent) {
  const done = new LRUCache({ max: 100_000 })
  return (body, header) => {
    if (!isSigned(body, header)) return 401
    const { id, data } = JSON.parse(body.toString())
    if (done.has(id)) return 200
    const checked = contact.safeParse(data.record)
    if (!checked.success) return 422
    onEvent(checked.data)
    done.set(id, true)
    return 200
  }
}
