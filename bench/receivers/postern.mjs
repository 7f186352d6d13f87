import { createReceiver } from '../../dist/index.js'
import { SECRET } from './by-hand.mjs'

export function createPostern(onEvent, options = {}) {
  return createReceiver({ secret: SECRET, ...options }).on('contact.created', (event) => onEvent(event.data.record))
}
