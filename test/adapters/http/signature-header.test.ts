import { ConfigurationError, createReceiver, type Outcome } from 'postern'
import { createSender, events, fetchTarget, signed, silentLogger } from 'postern/testing'
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

describe('signatureHeader', () => {
  // test/senders/senders.test.ts shows that every host has headers of other names.
  it('names the header that is read', async () => {
    const { receiver, outcomes } = make()
    const sender = createSender({ target: fetchTarget(fetchHandler(receiver)), secret: SECRET, signatureHeader: NAME })
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
