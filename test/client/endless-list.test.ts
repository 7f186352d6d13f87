import { ServiceError } from 'postern/client'
import { expect, it } from 'vitest'
import { readPages } from '../../src/client/read-pages.ts'
import { toContact } from '../../src/client/records.ts'
import type { Answer } from '../../src/client/transport.ts'
import { collect, failureOf } from './support.ts'

/** Pages of so many entries, without HTTP: 10,000 requests take ten seconds. */
function servePages(pages: number, size: number) {
  let page = 0
  const ask = async (): Promise<Answer> => {
    const data = Array.from({ length: page < pages ? size : 0 }, (_, at) => ({ _id: `c${page * size + at}` }))
    page++
    return {
      headers: new Headers(),
      body: { data, next: `n${page}` },
      unusable: (why) => new ServiceError('answer_unusable', why, { route: 'GET /api/sales/contacts' }),
    }
  }
  return ask
}

it('a list of 12,000 pages is read to its end', async () => {
  expect(await collect(readPages(servePages(12_000, 1), toContact, []))).toHaveLength(12_000)
})

it('a list whose pages never end fails after as many entries as no list has', async () => {
  const failure = await failureOf(collect(readPages(servePages(Number.POSITIVE_INFINITY, 10), toContact, [], 10_000)))
  expect(failure).toMatchObject({
    code: 'answer_unusable',
    message: expect.stringContaining('10000 entries were read'),
  })
})
