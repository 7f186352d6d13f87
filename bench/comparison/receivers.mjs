/**
 * The smallest receiver of each project, written as its own documents show it for the server that they show. It awaits the work before the
 * answer, even if the document only says "handle the event". Each function gets `work(event)`, and returns a listener of node:http.
 *
 * Two of them use the service's scheme, a digest over the bytes behind `sha256=`, with GitHub's header names: their headers are copied. The
 * other schemes also sign an id and a time. For those, `resign` replaces their sender: it signs again every request with a valid signature
 * of the service, and puts a wrong signature on every other request. So the signature itself is not judged there.
 */

import { createWebhookMiddleware } from '@hookflo/tern/express'
import { createNodeMiddleware, Webhooks } from '@octokit/webhooks'
import express from 'express'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { Webhook as SvixWebhook } from 'svix'
import { expressHandler } from '../../dist/express.js'
import { createReceiver } from '../../dist/index.js'
import { HEADER, isSigned, SECRET } from '../receivers/by-hand.mjs'

const log = { debug() {}, info() {}, warn() {}, error() {} }

/** GitHub names the event and its id in headers. */
const asGitHub = (request, _response, next) => {
  const signature = request.headers[HEADER]
  if (signature !== undefined) request.headers['x-hub-signature-256'] = signature
  request.headers['x-github-event'] = 'push'
  request.headers['x-github-delivery'] = 'delivery'
  next()
}

/** Behind the parser that the documents want. `sign` returns headers. */
const resign = (sign) => (request, _response, next) => {
  if (Buffer.isBuffer(request.body) && request.headers[HEADER] !== undefined) {
    const headers = sign(request.body.toString())
    const isGenuine = isSigned(request.body, request.headers[HEADER])
    Object.assign(request.headers, isGenuine ? headers : sign(`${request.body.toString()} `))
  }
  next()
}

/** https://github.com/octokit/webhooks.js#createnodemiddleware */
const octokit = (work) => {
  const webhooks = new Webhooks({ secret: SECRET, log })
  webhooks.onAny(({ payload }) => work(payload))
  const middleware = createNodeMiddleware(webhooks, { path: '/webhooks', log })
  return async (request, response) => {
    asGitHub(request, response, () => {})
    if (await middleware(request, response)) return
    response.writeHead(404)
    response.end()
  }
}

/** https://github.com/Hookflo/tern#expressjs-middleware-body-parser-safe */
const tern = (work) => {
  const app = express()
  app.post(
    '/webhooks',
    asGitHub,
    createWebhookMiddleware({ platform: 'github', secret: SECRET }),
    async (request, response) => {
      await work(request.webhook.payload)
      response.json({ received: true })
    },
  )
  return app
}

/** https://docs.stripe.com/webhooks#example-endpoint */
const stripe = (work) => {
  const { webhooks } = new Stripe('sk_test_of_the_bench')
  const sign = (payload) => ({ 'stripe-signature': webhooks.generateTestHeaderString({ payload, secret: SECRET }) })
  const app = express()
  app.post('/webhooks', express.raw({ type: 'application/json' }), resign(sign), async (request, response) => {
    let event
    try {
      event = webhooks.constructEvent(request.body, request.headers['stripe-signature'], SECRET)
    } catch (error) {
      response.status(400).send(`Webhook Error: ${error.message}`)
      return
    }
    await work(event)
    response.json({ received: true })
  })
  return app
}

/** https://docs.svix.com/receiving/verifying-payloads/how; standardwebhooks has the same interface. */
const standard = (Webhook) => (work) => {
  const signer = new Webhook(SECRET)
  const sign = (payload) => {
    const now = new Date()
    return {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': signer.sign('msg_1', now, payload),
    }
  }
  const app = express()
  app.post('/webhooks', express.raw({ type: 'application/json' }), resign(sign), async (request, response) => {
    const webhook = new Webhook(SECRET)
    let message
    try {
      message = webhook.verify(request.body, request.headers)
    } catch {
      response.status(400).json({})
      return
    }
    await work(message)
    response.json({})
  })
  return app
}

/** The README's. */
const postern = (work) => {
  const receiver = createReceiver({ secret: SECRET, logger: log })
  receiver.on('*', work)
  const app = express()
  app.post('/webhooks', expressHandler(receiver))
  return app
}

export const RECEIVERS = {
  postern,
  octokit,
  tern,
  stripe,
  standardwebhooks: standard(StandardWebhook),
  svix: standard(SvixWebhook),
}
