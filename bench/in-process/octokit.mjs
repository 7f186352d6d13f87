import { createHmac } from 'node:crypto'
import { Webhooks } from '@octokit/webhooks'
import { SECRET } from '../deliveries.mjs'

export function create({ onEvent }) {
  const webhooks = new Webhooks({ secret: SECRET, log: { debug() {}, info() {}, warn() {}, error() {} } })
  webhooks.on('issues.opened', ({ payload }) => onEvent(payload.data.record))
  return {
    // It takes text and routes by the "action" field, which the body gets at no cost to the others.
    sign: (body, id) => {
      const text = `{"action":"opened",${body.toString().slice(1)}`
      return {
        id,
        body: Buffer.from(text),
        signature: `sha256=${createHmac('sha256', SECRET).update(text).digest('hex')}`,
      }
    },
    deliver: ({ id, body, signature }) =>
      webhooks.verifyAndReceive({ id, name: 'issues', payload: body.toString(), signature }),
  }
}
