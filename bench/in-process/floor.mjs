/** The least work that any correct receiver does. */
import { isSigned } from '../receivers/by-hand.mjs'

export const create = (onEvent) => ({
  deliver: ({ body, signature }) => {
    if (isSigned(body, signature)) onEvent(JSON.parse(body.toString()).data.record)
  },
})
