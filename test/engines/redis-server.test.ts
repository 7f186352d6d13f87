import { describe, expect, it } from 'vitest'
import { redisProgram, startRedis } from './redis-server.ts'
import { findEngine } from './require.ts'

describe('an engine that is not on this machine', () => {
  it('fails its tests if it is required, and skips them otherwise', () => {
    const required = process.env.REQUIRE_ENGINES
    try {
      process.env.REQUIRE_ENGINES = '1'
      expect(() => findEngine('no-such-engine')).toThrow(/no-such-engine is not on this machine.*REQUIRE_ENGINES=1/)
      process.env.REQUIRE_ENGINES = ''
      expect(findEngine('no-such-engine')).toBeUndefined()
    } finally {
      process.env.REQUIRE_ENGINES = required ?? ''
    }
  })
})

describe.skipIf(redisProgram === undefined)('the Redis of the tests', () => {
  it('restarts on the same port after it was killed', async () => {
    const server = await startRedis()
    try {
      await server.kill('SIGKILL')
      await server.start()
      await server.kill('SIGTERM')
    } finally {
      await server.remove()
    }
    expect(server.url).toBe(`redis://127.0.0.1:${server.port}`)
  })
})
