import { silentLogger } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { Feed, type FeedMessage } from '../../tools/emulator/feed.ts'

function makeFeed() {
  const logged: (readonly [string, object, string | undefined])[] = []
  const log = (level: string) => (fields: object, message?: string) => logged.push([level, fields, message])
  return { feed: new Feed({ ...silentLogger, warn: log('warn'), error: log('error') }), logged }
}

const MESSAGE: FeedMessage = { type: 'clock', now: 7 }

describe('the feed', () => {
  it('sends each message to every listener until it is removed, and to nobody twice', () => {
    const { feed } = makeFeed()
    const [one, two]: FeedMessage[][] = [[], []]
    const listener = (message: FeedMessage) => one?.push(message)
    feed.publish({ type: 'reset' })
    const stop = feed.subscribe(listener)
    feed.subscribe(listener)
    feed.subscribe((message) => two?.push(message))
    feed.publish(MESSAGE)
    stop()
    feed.publish({ type: 'reset' })
    expect([one, two]).toEqual([[MESSAGE], [MESSAGE, { type: 'reset' }]])
  })

  it('logs a listener that throws, and calls the others', () => {
    const { feed, logged } = makeFeed()
    const cause = new Error('mine')
    const seen: FeedMessage[] = []
    feed.subscribe(() => {
      throw cause
    })
    feed.subscribe((message) => seen.push(message))
    feed.publish(MESSAGE)
    expect(seen).toEqual([MESSAGE])
    expect(logged).toEqual([['error', { err: cause }, 'a listener of the emulator threw']])
  })

  it('sends warnings to the listeners and to the log', () => {
    const { feed, logged } = makeFeed()
    const seen: FeedMessage[] = []
    feed.subscribe((message) => seen.push(message))
    feed.warn('beware')
    expect(seen).toEqual([{ type: 'warning', message: 'beware' }])
    expect(logged).toEqual([['warn', {}, 'beware']])
  })
})
