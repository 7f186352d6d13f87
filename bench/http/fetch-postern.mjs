import { createReceiver } from '../../dist/index.js'
import { fetchHandler } from '../../dist/web.js'
import { SECRET } from '../deliveries.mjs'
import { serveFetch } from './fetch-bridge.mjs'

export const createListener = (onEvent) =>
  serveFetch(
    fetchHandler(createReceiver({ secret: SECRET }).on('contact.created', (event) => onEvent(event.data.record))),
  )
