import { makeBody } from '../deliveries.mjs'
import { HEADER, sign } from '../receivers/by-hand.mjs'

/**
 * The bare loop: signs a body, sends it by fetch, reads the answer, with as many concurrent requests as the emulator has for one webhook.
 */
export async function createSender(url) {
  const sendOne = async () => {
    const { body } = makeBody(611)
    const headers = { 'content-type': 'application/json', [HEADER]: sign(body) }
    const response = await fetch(url, { method: 'POST', headers, body })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`the receiver answered ${response.status}`)
  }
  return async (count) => {
    let left = count
    const sendAll = async () => {
      while (left-- > 0) await sendOne()
    }
    await Promise.all(Array.from({ length: 8 }, sendAll))
  }
}
