import express from 'express'
import { fastify } from 'fastify'
import { ConfigurationError, createReceiver, type Outcome } from 'postern'
import { expressHandler } from 'postern/express'
import { fastifyPlugin } from 'postern/fastify'
import { createSender, events, fastifyTarget, fetchTarget, nodeTarget, signed, silentLogger } from 'postern/testing'
import { fetchHandler } from 'postern/web'
import { describe, expect, it } from 'vitest'

const SECRET = 'whsec_5f1d3a'
const NAME = 'X-Crm-Signature'

function make(signatureHeader: string | undefined = NAME) {
  const outcomes: Outcome[] = []
  const onOutcome = (outcome: Outcome) => void outcomes.push(outcome)
  const receiver = createReceiver({ secret: SECRET, signatureHeader, logger: silentLogger, onOutcome })
  receiver.on('contact.created', () => {})
  return { receiver, outcomes }
}

const HOSTS = {
  Express: async (receiver: ReturnType<typeof make>['receiver']) =>
    nodeTarget(express().post('/webhooks', expressHandler(receiver)), { path: '/webhooks' }),
  Fastify: async (receiver: ReturnType<typeof make>['receiver']) => {
    const app = fastify()
    await app.register(fastifyPlugin, { receiver, url: '/webhooks' })
    return fastifyTarget(app, { path: '/webhooks' })
  },
  Fetch: async (receiver: ReturnType<typeof make>['receiver']) => fetchTarget(fetchHandler(receiver)),
}

describe('signatureHeader', () => {
  it.each(Object.entries(HOSTS))('names the header that is read: %s', async (_host, mount) => {
    const { receiver, outcomes } = make()
    const sender = createSender({ target: await mount(receiver), secret: SECRET, signatureHeader: NAME })
    expect(await sender.send(events.contact.created())).toMatchObject({ status: 200 })
    expect(await sender.send(events.contact.created(), { tamper: 'two-headers' })).toMatchObject({ status: 401 })
    const other = await sender.send(events.contact.created(), { signatureHeader: 'X-Service-Signature' })
    expect(other).toMatchObject({ status: 401 })
    expect(outcomes.map((outcome) => [outcome.outcome, 'reason' in outcome && outcome.reason])).toEqual([
      ['handled', false],
      ['rejected', `${NAME} is not exactly one value of "sha256=" and 64 hexadecimal digits.`],
      ['rejected', `There is no ${NAME} header.`],
    ])
  })

  it('is named by a refusal of receive()', async () => {
    const { receiver } = make()
    const { body } = signed(events.contact.created(), { secret: SECRET })
    expect(await receiver.receive({ body, signature: undefined })).toMatchObject({
      reason: `There is no ${NAME} header.`,
    })
  })

  it.each([
    '',
    'X Crm',
    'x-crm:',
    'Content-Length',
    'transfer-encoding',
    'Authorization',
    'user-agent',
    '__proto__',
    'x'.repeat(65),
    7,
    null,
  ])('is refused if it is %j, by the receiver and by the test kit', (name) => {
    const refusal = expect.objectContaining({
      code: 'option_invalid',
      message: expect.stringContaining('X-Crm-Signature'),
    })
    const signatureHeader = name as string // what plain JavaScript may pass
    expect(() => make(signatureHeader)).toThrow(refusal)
    expect(() => signed('{}', { secret: SECRET, signatureHeader })).toThrow(refusal)
    expect(() => make(signatureHeader)).toThrow(ConfigurationError)
  })
})
