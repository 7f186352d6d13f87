import { ServiceError } from 'postern/client'
import { expect, it } from 'vitest'
import { readPages } from '../../src/client/read-pages.ts'
import { toContact } from '../../src/client/records.ts'
import type { Answer } from '../../src/client/transport.ts'
import { collect, failureOf } from './support.ts'

it('a list whose pages never end fails after 10,000 of them', async () => {
  let page = 0
  // Without HTTP: 10,000 requests take ten seconds.
  const ask = async (): Promise<Answer> => ({
    route: 'GET /api/sales/contacts',
    status: 200,
    headers: new Headers(),
    body: { data: [{ _id: `c${page++}` }], next: `n${page}` },
    attempts: 1,
    unusable: (why) => new ServiceError('answer_unusable', why, { route: 'GET /api/sales/contacts' }),
  })
  expect(await failureOf(collect(readPages(ask, toContact, [])))).toMatchObject({ code: 'answer_unusable' })
  expect(page).toBe(10_001)
})
