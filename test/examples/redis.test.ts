import { describe, expect, it } from 'vitest'
import { redisProgram } from '../engines/redis-server.ts'
import { start } from '../support/programs.ts'

const MAIN = 'examples/redis/main.ts'

describe('several processes behind one port', () => {
  it.skipIf(redisProgram === undefined)(
    'handle each event once on one Redis, and take over from a dead one',
    async () => {
      const program = start('--import=tsx', {}, MAIN)
      expect(await program.exitCode, program.output).toBe(0)
      expect(program.output).toContain('20 events in three copies each: 20 handled once')
      expect(program.output).toMatch(/^ {2}cut off, .*200$/m)
      expect(program.output).toMatch(/all as it should be\n$/)
    },
  )

  it('report the missing engine if there is no Redis', async () => {
    const program = start('--import=tsx', { PATH: '' }, MAIN)
    expect(await program.exitCode, program.output).toBe(3)
    expect(program.output).toMatch(/There is no Redis for this example .*\n.*apt-get install redis-server/)
  })
})
