import { RetryLater } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { Scene } from './scene.ts'

const event = events.contact.created

describe('what a handler throws', () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  it.each([
    ['that cannot be looked at', proxy],
    ['an AggregateError without errors', Object.assign(new AggregateError([]), { errors: null })],
    [
      'a RetryLater whose time is no number',
      Object.assign(new Error('x'), { name: 'RetryLater', delayMs: Number.NaN }),
    ],
    ['a RetryLater changed to a time that has passed', Object.assign(new RetryLater(1), { delayMs: -1 })],
  ])('%s counts as a failed try', async (_, thrown) => {
    const scene = new Scene()
    scene.receiver.on('*', () => {
      throw thrown
    })
    await scene.deliver(event())
    scene.work({ attempts: 2, delay: () => 0 })
    await scene.untilIdle()
    expect(scene.dead).toHaveLength(1)
    expect((await scene.inbox.list('dead')).entries).toMatchObject([{ failures: 1, tries: [{ n: 1 }, { n: 2 }] }])
  })
})
