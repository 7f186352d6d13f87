import { configure } from '@codegenie/serverless-express'
import awsLambdaFastify from '@fastify/aws-lambda'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { handle } from 'hono/aws-lambda'
import { createReceiver, type Receiver } from 'postern'
import { expressHandler } from 'postern/express'
import { fastifyPlugin } from 'postern/fastify'
import { events, signed, silentLogger } from 'postern/testing'
import { fetchHandler } from 'postern/web'
import serverlessHttp from 'serverless-http'
import { expect, it } from 'vitest'

const SECRET = 'whsec_lambda'

/** The handler of a Lambda function. */
type Lambda = (event: object, context: object) => Promise<{ readonly statusCode: number }>

const bridges: Readonly<Record<string, (receiver: Receiver) => unknown>> = {
  'hono/aws-lambda'(receiver) {
    const answer = fetchHandler(receiver)
    return handle(new Hono().post('/webhooks', (context) => answer(context.req.raw)))
  },
  'serverless-http': (receiver) => serverlessHttp(express().post('/webhooks', expressHandler(receiver))),
  '@codegenie/serverless-express': (receiver) =>
    configure({ app: express().post('/webhooks', expressHandler(receiver)) }),
  '@fastify/aws-lambda'(receiver) {
    const app = fastify()
    app.register(fastifyPlugin, { receiver, url: '/webhooks' })
    return awsLambdaFastify(app)
  },
}

interface Sent {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly isBase64Encoded: boolean
}

const toMultiple = (headers: Sent['headers']) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))

/** Events that AWS passes to the function. */
const triggers: Readonly<Record<string, (sent: Sent) => object>> = {
  'API Gateway, payload 1.0': (sent) => ({
    ...sent,
    resource: '/webhooks',
    path: '/webhooks',
    httpMethod: 'POST',
    multiValueHeaders: toMultiple(sent.headers),
    queryStringParameters: null,
    multiValueQueryStringParameters: null,
    requestContext: { httpMethod: 'POST', path: '/webhooks', stage: 'prod', identity: { sourceIp: '192.0.2.1' } },
  }),
  'API Gateway, payload 2.0': (sent) => ({
    ...sent,
    version: '2.0',
    routeKey: 'POST /webhooks',
    rawPath: '/webhooks',
    rawQueryString: '',
    requestContext: {
      stage: '$default',
      domainName: 'app.example',
      http: { method: 'POST', path: '/webhooks', protocol: 'HTTP/1.1', sourceIp: '192.0.2.1' },
    },
  }),
  'a load balancer': (sent) => ({
    ...sent,
    path: '/webhooks',
    httpMethod: 'POST',
    queryStringParameters: {},
    requestContext: { elb: { targetGroupArn: 'arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/app/1' } },
  }),
}

const cases = Object.entries(bridges).flatMap(([bridge, make]) =>
  Object.entries(triggers).flatMap(([trigger, toEvent]) =>
    [false, true].map((isBase64) => ({ bridge, make, trigger, toEvent, isBase64 })),
  ),
)

it.each(cases)('$bridge behind $trigger verifies the exact bytes (base64: $isBase64)', async (tried) => {
  const handled: unknown[] = []
  const receiver = createReceiver({ secret: SECRET, logger: silentLogger })
  receiver.on('contact.created', (event) => void handled.push(event.data.record))
  const lambda = tried.make(receiver) as Lambda // each bridge types its own events
  const record = { firstName: 'Zoë 🦊' }
  const { body, headers } = signed(events.contact.created(record), { secret: SECRET })
  const call = async (bytes: Buffer) => {
    const sent = {
      headers: { ...headers, host: 'app.example', 'content-length': String(bytes.length) },
      body: bytes.toString(tried.isBase64 ? 'base64' : 'utf8'),
      isBase64Encoded: tried.isBase64,
    }
    const context = { callbackWaitsForEmptyEventLoop: true, awsRequestId: 'request', getRemainingTimeInMillis: () => 1 }
    return (await lambda(tried.toEvent(sent), context)).statusCode
  }
  const bytes = Buffer.from(body)
  expect(await call(bytes)).toBe(200)
  expect(await call(Buffer.from(bytes.toString().replace('Zoë', 'Zoe')))).toBe(401)
  expect(handled).toEqual([expect.objectContaining(record)])
})
