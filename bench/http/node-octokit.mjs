import { createNodeMiddleware, Webhooks } from '@octokit/webhooks'
import { SECRET } from '../deliveries.mjs'

export function createListener(onEvent) {
  const webhooks = new Webhooks({ secret: SECRET, log: { debug() {}, info() {}, warn() {}, error() {} } })
  webhooks.on('issues.opened', ({ payload }) => onEvent(payload.data.record))
  return createNodeMiddleware(webhooks, { path: '/webhooks' })
}
