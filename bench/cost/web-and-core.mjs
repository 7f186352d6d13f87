export { createReceiver } from '../../dist/index.js'
export { fetchHandler } from '../../dist/web.js'
