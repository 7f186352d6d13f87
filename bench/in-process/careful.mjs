import { createCareful } from '../receivers/careful.mjs'

export function create(onEvent) {
  const receive = createCareful(onEvent)
  return { dedupes: true, deliver: ({ body, signature }) => receive(body, signature) }
}
