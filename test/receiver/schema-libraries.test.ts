import { type } from 'arktype'
import { createReceiver } from 'postern'
import { contact } from 'postern/models'
import { createEvents, silentLogger } from 'postern/testing'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import * as z3 from 'zod3'
import { type Equal, expectType } from '../types/equal.ts'

// The libraries that the documents name, each with a receiver of its own, beside the model of this package, which is made by zod 4.

const events = createEvents()
const options = { secret: 'test-secret', logger: silentLogger }
const record = { title: 'Roof', closesAt: '2031-02-03' }

describe('handlers get the output of a schema by', () => {
  const titles: string[] = []
  const receivers = {
    'zod 4': () => {
      const opportunity = z.looseObject({ _id: z.string(), title: z.string(), closesAt: z.coerce.date().nullish() })
      return createReceiver({ ...options, models: { contact, opportunity } }).on('opportunity.*', (event) => {
        if (event.action === 'deleted') return
        expectType<Equal<typeof event.data.record.title, string>>()
        expectType<Equal<typeof event.data.record.closesAt, Date | null | undefined>>()
        titles.push(`${event.data.record.title} ${event.data.record.closesAt?.getFullYear()}`)
      })
    },
    'zod 3': () => {
      const opportunity = z3
        .object({ _id: z3.string(), title: z3.string(), closesAt: z3.coerce.date().nullish() })
        .passthrough()
      return createReceiver({ ...options, models: { contact, opportunity } }).on('opportunity.*', (event) => {
        if (event.action === 'deleted') return
        expectType<Equal<typeof event.data.record.title, string>>()
        expectType<Equal<typeof event.data.record.closesAt, Date | null | undefined>>()
        titles.push(`${event.data.record.title} ${event.data.record.closesAt?.getFullYear()}`)
      })
    },
    valibot: () => {
      const toDate = v.pipe(
        v.string(),
        v.transform((text) => new Date(text)),
      )
      const opportunity = v.looseObject({ _id: v.string(), title: v.string(), closesAt: v.nullish(toDate) })
      return createReceiver({ ...options, models: { contact, opportunity } }).on('opportunity.*', (event) => {
        if (event.action === 'deleted') return
        expectType<Equal<typeof event.data.record.title, string>>()
        expectType<Equal<typeof event.data.record.closesAt, Date | null | undefined>>()
        titles.push(`${event.data.record.title} ${event.data.record.closesAt?.getFullYear()}`)
      })
    },
    arktype: () => {
      const opportunity = type({ _id: 'string', title: 'string', 'closesAt?': 'string.date.parse | null' })
      return createReceiver({ ...options, models: { contact, opportunity } }).on('opportunity.*', (event) => {
        if (event.action === 'deleted') return
        expectType<Equal<typeof event.data.record.title, string>>()
        expectType<Equal<typeof event.data.record.closesAt, Date | null | undefined>>()
        titles.push(`${event.data.record.title} ${event.data.record.closesAt?.getFullYear()}`)
      })
    },
  } as const

  it.each(Object.entries(receivers))('%s, and what it refuses is answered 422 with the path', async (_name, create) => {
    titles.length = 0
    const receiver = create()
    const opportunity = events.model('opportunity')
    expect(await receiver.dispatch(opportunity.created(record))).toMatchObject({ outcome: 'handled' })
    expect(titles).toEqual(['Roof 2031'])
    const misfit = await receiver.dispatch(opportunity.updated({ title: null }))
    expect(misfit).toMatchObject({ outcome: 'rejected', status: 422, issues: [{ path: 'title' }] })
    expect(titles).toHaveLength(1)
  })
})

it('refuses the promise that an asynchronous transform leaves in the output of a synchronous schema, at any depth', async () => {
  const late = v.pipe(
    v.string(),
    v.transform(async (text) => {
      throw new Error(`no rate for ${text}`) // a rejection that nobody takes would end this process
    }),
  )
  const opportunity = v.looseObject({ _id: v.string(), lines: v.array(v.object({ currency: late })) })
  const errors: unknown[] = []
  const receiver = createReceiver({ ...options, models: { opportunity }, onError: (error) => void errors.push(error) })
  receiver.on('opportunity.*', () => expect.unreachable())
  const event = events.model('opportunity').created({ lines: [{ currency: 'EUR' }, { currency: 'CHF' }] })
  expect(await receiver.dispatch(event)).toMatchObject({ status: 500, code: 'schema_failed' })
  expect(errors).toMatchObject([{ cause: { message: expect.stringContaining('a promise at lines.0.currency') } }])
})

it('names the oldest versions that follow Standard Schema when a schema does not', () => {
  const { '~standard': _, ...before } = { ...z3.string(), parse: () => '' }
  const create = () => createReceiver({ ...options, models: { opportunity: before as never } })
  expect(create).toThrow(/models\.opportunity is not a schema.*zod from 3\.24/s)
})
