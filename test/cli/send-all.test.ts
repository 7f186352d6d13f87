import { expect, it } from 'vitest'
import { sendAll } from '../../tools/cli/service/send-all.ts'

it('begins no more calls once one has failed', async () => {
  const begun: number[] = []
  const send = (one: number) => {
    begun.push(one)
    return Promise.reject(new Error('cut'))
  }
  const pace = { concurrent: 3, rate: 20, signal: new AbortController().signal }
  await expect(sendAll([1, 2, 3], send, pace)).rejects.toThrow('cut')
  await sendAll([4, 5, 6], async (one) => void begun.push(one), pace) // as long as the others would take
  expect(begun).toEqual([1, 4, 5, 6])
})
