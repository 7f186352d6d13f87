import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createMaker } from '../../tools/check/maker.ts'
import { listWrongForms } from '../../tools/check/wrong-forms.ts'
import { type HandWritten, SECRET } from './faulty/hand-written.ts'
import { MISTAKES, withKey } from './faulty/mistakes.ts'
import { checkAt, told } from './judge.ts'

/** Every check that can fail because of a mistake with the signature, and one of those that follow from any mistake. */
const OF_THE_MISTAKE = ['signature-no-prefix', 'signature-sha1', 'signature-no-secret', 'signature-unknown-account']
const ONLY = ['accepts-valid', ...OF_THE_MISTAKE, 'signature-reserialised', 'late-retry']

async function check(receiver: HandWritten, only: readonly string[], secret = SECRET) {
  return (await checkAt(receiver, { secret, only, concurrency: 1 })).report
}

describe('a mistake with the signature', () => {
  it.each(MISTAKES)('is %s for a receiver that signs with %s, and the rest follows from it', async (code, _what, R) => {
    const report = await check(new R(), ONLY)
    expect(report.diagnosis).toMatchObject({ code, text: expect.stringMatching(/\.$/) })
    const { follows = [] } = report.diagnosis ?? {}
    expect(follows).toContain('late-retry')
    expect(Object.keys(told(report, 'fail', 'warn')).filter((id) => !follows.includes(id))).toEqual(['accepts-valid'])
  })

  it.each([
    ['reads the text of its secret as base64', SECRET, Buffer.from(SECRET, 'base64')],
    ['reads the text of its secret as hexadecimal digits', 'c0ffee00c0ffee00', Buffer.from('c0ffee00c0ffee00', 'hex')],
    ['cuts off the beginning of its secret', 'whsec_5f2d7a91c04b', '5f2d7a91c04b'],
    ['cuts it off and reads base64', 'whsec_5f2d7a91c04b', Buffer.from('5f2d7a91c04b', 'base64')],
    ['cuts it off and reads hexadecimal digits', 'whsec_5f2d7a91c04b', Buffer.from('5f2d7a91c04b', 'hex')],
  ])('is secret_decoded for a receiver that %s', async (_what, secret, key) => {
    expect((await check(new (withKey(key))(), ['accepts-valid'], secret)).diagnosis?.code).toBe('secret_decoded')
  })

  it('is another secret for a receiver that has the one of the examples', async () => {
    const { diagnosis } = await check(new (withKey('test-secret'))(), ['accepts-valid'])
    expect(diagnosis?.text).toMatch(
      /^The receiver accepts signatures of "test-secret"; the secret given to the checker/,
    )
  })

  it('is looked for with deliveries that the service would not send, except for other spellings of genuine ones', () => {
    const make = createMaker({ secret: SECRET, accountKey: 'acme' })
    const signed = (body: Uint8Array) => `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`
    const genuine = listWrongForms(Buffer.from(SECRET), make.signatureHeader).filter(({ deliver }) =>
      deliver(make).some(
        ({ signatureName, signatures, body }) =>
          /^x-service-signature$/i.test(signatureName) && signatures.join() === signed(body),
      ),
    )
    expect(genuine.map(({ code }) => code)).toEqual(['header_case', 'decoded'])
  })
})
