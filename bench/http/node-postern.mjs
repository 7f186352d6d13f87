import { createReceiver } from '../../dist/index.js'
import { nodeHandler } from '../../dist/node.js'
import { SECRET } from '../deliveries.mjs'

export const createListener = (onEvent) =>
  nodeHandler(createReceiver({ secret: SECRET }).on('contact.created', (event) => onEvent(event.data.record)))
