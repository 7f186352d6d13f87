import { expect, it } from 'vitest'
import { redisProgram } from '../engines/redis-server.ts'
import { start } from '../support/programs.ts'

it.skipIf(redisProgram === undefined)(
  'examples/bullmq accepts in one process, works in others, and shows its queue in Bull Board',
  async () => {
    const program = start('--import=tsx', {}, 'examples/bullmq/main.ts')
    expect(await program.exitCode, program.output).toBe(0)
    expect(program.output).toContain('20 events answered 200 accepted\n')
    expect(program.output).toContain('a contact without an address')
    expect(program.output).toContain('20 handled by 2 worker processes\n')
  },
)
