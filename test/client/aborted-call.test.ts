import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { startWatch } from '../support/watch.ts'
import { startService } from './support.ts'

it('a call that was given up does not keep the process alive, even after a garbage collection', async () => {
  const service = await startService(() => () => {})
  const child = fork(fileURLToPath(new URL('aborted-call.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx', '--expose-gc'],
    env: { ...process.env, BASE_URL: service.url },
  })
  try {
    expect(await once(child, 'message')).toEqual([{ bySignal: 'given up', byTimeLimit: 'given up' }, undefined])
    const watch = startWatch()
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(watch()).toBeLessThan(5_000)
  } finally {
    child.kill('SIGKILL')
    await service.close()
  }
})
