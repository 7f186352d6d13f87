import type { EmulatorOptions, FeedMessage } from 'postern/emulator'
import { describe, expect, it } from 'vitest'
import { makeDatabase, refusal, start } from './support.ts'

const FIELDS = { url: 'http://localhost/', events: ['sync.failed'] }

const open = (assume: object = {}, options: EmulatorOptions = {}) => start({ port: false, assume, ...options })

describe('a registration', () => {
  it.each([
    [{}, true],
    [{ A01: 'false' }, false],
  ])('is active unless it says otherwise, or another default is assumed: %j', async (assume, active) => {
    const { webhooks } = await open(assume)
    expect(webhooks.create(FIELDS).active).toBe(active)
    expect(webhooks.create({ ...FIELDS, active: !active }).active).toBe(!active)
  })

  it('gets a secret of its own, unless it is given one that can sign', async () => {
    const { webhooks } = await open()
    const made = [webhooks.create(FIELDS), webhooks.create(FIELDS)].map(({ secret }) => secret)
    expect(made).toEqual(Array(2).fill(expect.stringMatching(/^whsec_[\w-]{43}$/)))
    expect(new Set(made).size).toBe(2)
    expect(() => webhooks.create(FIELDS, { secret: '' })).toThrow(expect.objectContaining({ code: 'secret_unusable' }))
    expect(webhooks.list()).toHaveLength(2)
  })

  it('of types that never fire is announced with a warning', async () => {
    const crm = await open()
    const messages: FeedMessage[] = []
    crm.subscribe((message) => messages.push(message))
    crm.webhooks.create({ ...FIELDS, events: ['invoice.paid'] })
    expect(messages.map(({ type }) => type)).toEqual(['warning', 'webhook'])
  })

  it('above 200 for an account is refused, until one is deleted', async () => {
    const { webhooks } = await open()
    const [first] = Array.from({ length: 200 }, () => webhooks.create(FIELDS))
    expect(() => webhooks.create(FIELDS)).toThrow(refusal('invalid', 'takes 200 webhooks per account; delete some'))
    webhooks.create(FIELDS, { accountKey: 'globex' })
    webhooks.delete(first?.id ?? '')
    webhooks.create(FIELDS)
    expect(webhooks.list()).toHaveLength(201)
  })
})

describe('an update', () => {
  it.each([
    ['true', true],
    ['false', false],
  ])('replaces description and state if that is assumed (A07), by the default %s (A01)', async (A01, active) => {
    const { webhooks } = await open({ A07: 'replace', A01 })
    const made = webhooks.create({ ...FIELDS, description: 'mine', active: !active })
    expect(webhooks.update(made.id, { url: made.url })).toEqual({ ...made, description: undefined, active })
  })

  it('of a webhook whose fields would be refused today repeats no check of those that stay', async () => {
    const database = makeDatabase()
    const lax = await open({ A30: 'any' }, { database })
    const made = lax.webhooks.create({ url: 'http://10.0.0.1/', events: ['a.b'] })
    await lax.close()
    const { webhooks } = await open({ A27: 'refused' }, { database })
    expect(webhooks.update(made.id, { active: false })).toEqual({ ...made, active: false })
    expect(webhooks.update(made.id, { url: made.url, active: true })).toEqual(made)
    expect(() => webhooks.update(made.id, { url: 'http://10.0.0.2/' })).toThrow(refusal('invalid', 'private network'))
  })
})
