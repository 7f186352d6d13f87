import { Webhooks } from '@octokit/webhooks'
import { SECRET } from './by-hand.mjs'

const log = { debug() {}, info() {}, warn() {}, error() {} }

export function createOctokit(onEvent) {
  const webhooks = new Webhooks({ secret: SECRET, log })
  webhooks.on('issues.opened', ({ payload }) => onEvent(payload.data.record))
  return webhooks
}

/** It routes by this field. Other contestants get the body without it: Postern copies events with fields beyond the envelope. */
export function withAction(body) {
  return Buffer.from(`{"action":"opened",${body.toString().slice(1)}`)
}
