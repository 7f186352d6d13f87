import { dropAll, type Inbox } from 'postern'
import { expect, it } from 'vitest'
import { makeItem } from '../adapters/inbox/engines.ts'

it('searches again after a search that found nothing, since an event may run meanwhile and wait again', async () => {
  const rounds = [[], ['1'], [], []]
  const dropped: string[] = []
  const inbox: Pick<Inbox, 'list' | 'drop'> = {
    async list(state) {
      const ids = state === 'waiting' ? (rounds.shift() ?? expect.unreachable()) : []
      const entry = { state, dueAt: 0, since: 0, failures: 0, deaths: 0, marks: [], tries: [] }
      return { entries: ids.map((id) => ({ ...makeItem(id), ...entry })), next: undefined }
    },
    async drop(key) {
      dropped.push(key)
      return true
    },
  }
  expect(await dropAll(inbox as Inbox, { accountKey: 'acme' })).toMatchObject({ found: 1, dropped: 1 })
  expect([dropped, rounds]).toEqual([['k1'], []])
})
