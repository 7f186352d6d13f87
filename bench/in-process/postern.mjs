import { createPostern } from '../receivers/postern.mjs'

export function create(onEvent, options) {
  const receiver = createPostern(onEvent, options)
  return { dedupes: true, deliver: (delivery) => receiver.receive(delivery) }
}
