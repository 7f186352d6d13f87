import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openSqlite } from 'postern/sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { drivers } from './drivers.ts'
import { makeFolder } from './folder.ts'

const COUNT = 150
const fileOf = makeFolder()
const running = new Set<ChildProcess>()
afterAll(() => {
  for (const child of running) child.kill('SIGKILL')
})

/** A worker that has opened the file and waits for its word. */
async function startWorker(...args: readonly string[]) {
  const child = fork(fileURLToPath(new URL('worker.ts', import.meta.url)), args, {
    execArgv: ['--import', 'tsx', '--unhandled-rejections=strict', '--no-warnings'],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  running.add(child)
  const acknowledged: string[] = []
  let [rest, stderr] = ['', '']
  child.stdout?.on('data', (part) => {
    const lines = `${rest}${part}`.split('\n')
    rest = lines.pop() ?? ''
    acknowledged.push(...lines)
  })
  child.stderr?.on('data', (part) => {
    stderr += part
  })
  const closed = once(child, 'close').then(([code, signal]) => {
    running.delete(child)
    return { code, signal, stderr }
  })
  const isReady = await Promise.race([once(child, 'message').then(() => true), closed.then(() => false)])
  if (!isReady) throw new Error(`a worker did not start: ${stderr}`)
  return { child, acknowledged, closed, go: () => child.send('go') }
}

describe.each(drivers)('four processes on one file, by %s', (driver) => {
  it('handle each event exactly once, though some are killed in the middle of their commits', async () => {
    const path = fileOf(`${driver.replace(':', '-')}.db`)
    const start = () => startWorker(path, driver, String(COUNT))
    // All at once on a file that is not there yet.
    const workers = await Promise.all([start(), start(), start(), start()])
    for (const { go } of workers) go()
    const [first, second] = workers
    for (const victim of [first, second]) {
      const enough = victim === first ? 10 : 40
      while ((victim?.acknowledged.length ?? enough) < enough) await sleep(2)
      victim?.child.kill('SIGKILL')
      expect(await victim?.closed).toMatchObject({ signal: 'SIGKILL' })
    }
    const late = await start()
    late.go()
    for (const { closed } of [...workers.slice(2), late])
      expect(await closed).toEqual({ code: 0, signal: null, stderr: '' })

    const database = openSqlite(path, { driver })
    try {
      expect(database.pragma('integrity_check')).toMatchObject([{ integrity_check: 'ok' }])
      const effects = database.prepare('SELECT event, count(*) AS times FROM effects GROUP BY event').all()
      expect(effects).toHaveLength(COUNT)
      expect(effects.filter(({ times }) => times !== 1)).toEqual([])
      const undone = database.prepare('SELECT key FROM postern_events WHERE is_done = 0').all()
      expect(undone).toEqual([])
      const pids = database.prepare('SELECT DISTINCT pid FROM effects').all()
      expect(pids.length).toBeGreaterThan(1)
      // What the killed had acknowledged is there.
      const known = new Set(effects.map(({ event }) => event))
      for (const { acknowledged } of [...workers, late]) for (const id of acknowledged) expect(known).toContain(id)
    } finally {
      database.close()
    }
  }, 90_000)
})
