import { Redis } from 'ioredis'
import { bullmqInbox } from 'postern/bullmq'
import type { InboxView } from 'postern/emulator'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openInboxOf } from '../../tools/cli/service/inbox-options.ts'
import { createLateInbox } from '../../tools/cli/service/late-inbox.ts'
import { ENGINES, type ServedEngine } from '../adapters/inbox/engines.ts'
import { postgresProgram, startPostgres } from '../engines/postgres-server.ts'
import { redisProgram, startRedis } from '../engines/redis-server.ts'
import { serverFor } from '../engines/server-for.ts'
import { findFreePort } from '../support/programs.ts'
import { keyOf, many, NO_COUNTS } from './inbox-file.ts'
import { buryAll, type Unlucky } from './make-dead-letters.ts'
import { ended, readLines, runCli, startCli } from './run-cli.ts'

/** Makes dead letters in a queue or a table. Returns the log. */
async function makeDeadLetters({ open }: ServedEngine, url: string, unlucky: readonly Unlucky[], place?: string) {
  const inbox = open(url, place)
  await inbox.migrate?.()
  const log: string[] = []
  await buryAll({ inbox }, unlucky, (message) => log.push(message))
  await inbox.close()
  return log
}

describe.each(ENGINES)('postern inbox --$name', (engine) => {
  const server = serverFor(engine.start)
  const run = (command: string, ...args: readonly string[]) =>
    runCli(['inbox', command, ...args, `--${engine.name}`, server().url])
  const countsOf = async (...args: readonly string[]) => readLines((await run('counts', '--json', ...args)).stdout)[0]

  it('counts, lists, shows, replays and drops', async () => {
    const log = await makeDeadLetters(engine, server().url, many(3))
    expect(await countsOf()).toEqual({ ...NO_COUNTS, dead: 3 })
    const listed = readLines((await run('list', '--limit', '2', '--json')).stdout)
    expect(listed.map(({ type }) => type)).toEqual(['item', 'item', 'page'])
    const shown = await run('show', keyOf('evt_1'), '--body')
    expect(shown.stdout).toContain('the customer does not exist')
    expect(shown.stdout).toContain('audit')
    expect(await run('replay', keyOf('evt_1'))).toMatchObject({ code: 0 })
    expect(await run('replay', keyOf('evt_1'))).toMatchObject({ code: 1 })
    expect(await run('drop', keyOf('evt_2'), '--yes')).toMatchObject({ code: 0 })
    expect(await run('show', keyOf('evt_2'))).toMatchObject({ code: 1 })
    expect(await run('replay', '--all', '--yes')).toMatchObject({ code: 0, stderr: expect.stringContaining('1 of 1') })
    expect(await countsOf()).toMatchObject({ waiting: 2, dead: 0 })
    // The command that the log names works.
    const [, command = ''] = /To look at it: npx postern (.*?)\. To try again/.exec(log[0] ?? '') ?? []
    expect(await runCli(command.split(' ').map((word) => word.replaceAll(/["']/g, '')))).toMatchObject({ code: 0 })
  })

  it('takes the place behind the ? of its URL', async () => {
    const detail = engine.name === 'redis' ? 'queue' : 'table'
    await makeDeadLetters(engine, server().url, many(2), 'placed')
    const url = `${server().url}?${detail}=placed`
    expect(await runCli(`inbox counts --${engine.name} ${url}`)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/2 .*dead|dead.* 2/s),
    })
    expect(await runCli(`inbox counts --${engine.name} ${url} --${detail} other`)).toEqual(ended(2, `not both`))
  })

  it('replays all of many dead letters, page after page, once each', async () => {
    await makeDeadLetters(engine, server().url, many(250), 'many')
    const detail = engine.name === 'redis' ? '--queue' : '--table'
    const replayed = await run('replay', '--all', '--yes', detail, 'many')
    expect(replayed).toEqual(ended(0, '250 of 250 dead letters replayed'))
    expect(await countsOf(detail, 'many')).toMatchObject({ waiting: 250, dead: 0 })
  })

  it('reports an engine that is away, without the password', async () => {
    const url = `${engine.name}://user:pa55word@127.0.0.1:${await findFreePort()}/0`
    const counts = await runCli(`inbox counts --${engine.name} ${url}`)
    expect(counts).toEqual(ended(3, 'cannot be reached'))
    expect(counts.stderr).not.toContain('pa55word')
  })
})

describe.skipIf(postgresProgram === undefined)('postern inbox migrate', () => {
  it('creates the tables that accepting requires, and can be run again', async () => {
    const server = await startPostgres()
    try {
      const run = (command: string) => runCli(`inbox ${command} --postgres ${server.url}`)
      expect(await run('counts')).toEqual(ended(3, 'npx postern inbox migrate --postgres'))
      for (const command of ['migrate', 'migrate', 'counts']) expect(await run(command)).toMatchObject({ code: 0 })
      const there = '--schema public --table postern_inbox.'
      expect(await run('counts --table postern_inboxx')).toEqual(
        ended(3, `no inbox with the table "postern_inboxx". It has: ${there}`),
      )
      expect(await run('list --schema publc')).toEqual(
        ended(3, `"postern_inbox" in the schema "publc". It has: ${there}`),
      )
    } finally {
      await server.remove()
    }
  })
})

describe.skipIf(redisProgram === undefined)('a connection to Redis', () => {
  it('comes back with its Redis', async () => {
    const server = await startRedis()
    onTestFinished(() => server.remove())
    await using inbox = createLateInbox({ redis: server.url })
    const counts = (late: InboxView) => late.counts().then(({ dead }) => dead)
    expect(await counts(inbox)).toBe(0)
    await server.kill('SIGKILL')
    await expect(inbox.counts()).rejects.toThrow()
    await server.start()
    await expect.poll(() => counts(inbox).catch(() => 'away')).toBe(0)
  })

  it('does not take a misspelt queue or prefix for an empty one', async () => {
    const server = await startRedis('--appendfsync', 'always')
    onTestFinished(() => server.remove())
    const run = (command: string) => runCli(`inbox ${command} --redis ${server.url}`)
    expect(await run('counts')).toMatchObject({ code: 0 }) // nothing was accepted yet
    const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
    onTestFinished(() => warned.mockRestore())
    const inbox = bullmqInbox({ connection: server.url, queue: 'crm' })
    await inbox.put({ key: 'k', bytes: Buffer.from('{}'), accountKey: 'a', id: 'e', type: 'a.b', receivedAt: 0 })
    await inbox.counts()
    await inbox.drop('k')
    expect(await run('counts --queue crm')).toMatchObject({ code: 0 })
    for (const command of ['counts', 'list', 'replay --all --yes', 'drop --all --account a --yes'])
      expect(await run(`${command} --queue crn`)).toEqual(ended(3, 'Did you mean crm? Queues there: crm.'))
    expect(await run('counts --queue crm --prefix bul')).toEqual(ended(3, 'Did you mean crm (prefix bull)?'))
    expect(warned).not.toHaveBeenCalled()
    const misspelt = bullmqInbox({ connection: server.url, queue: 'crn' })
    for (let times = 0; times < 2; times++) expect(await misspelt.counts()).toMatchObject({ waiting: 0 })
    expect(warned.mock.calls).toEqual([[expect.stringContaining('Did you mean crm?')]])
    await Promise.all([inbox.close(), misspelt.close()])
  })

  it('does not take another database for an empty inbox, and says so at the start of an emulator', async () => {
    const server = await startRedis()
    onTestFinished(() => server.remove())
    const inbox = bullmqInbox({ connection: server.url })
    await inbox.put({ key: 'k', bytes: Buffer.from('{}'), accountKey: 'a', id: 'e', type: 'a.b', receivedAt: 0 })
    await inbox.close()
    const url = `${server.url}/5`
    const told = 'This database has none; databases with keys: 0.'
    for (const command of ['counts', 'list', 'show k', 'replay k', 'drop k --yes', 'serve --port 0'])
      expect(await runCli(`inbox ${command} --redis ${url}`)).toEqual(ended(3, told))
    for (const more of [[], ['--json']]) {
      const emulator = startCli(['emulator', '--port', '0', '--inbox', url, ...more])
      await emulator.until(/inspector/)
      emulator.interrupt()
      expect(await emulator.exitCode).toBe(130)
      expect(emulator.stderr).toMatch(/^(the )?inbox .*not there yet: .*This database has none/m)
    }
  })

  it('has its queue and its prefix in Redis', async () => {
    const server = await startRedis()
    onTestFinished(() => server.remove())
    const redis = new Redis(server.url)
    onTestFinished(() => void redis.disconnect())
    const item = { bytes: Buffer.from('{}'), accountKey: 'acme', id: 'evt_1', type: 'sync.failed', receivedAt: 0 }
    const places = { 'bull:postern:': {}, 'b:crm:': { queue: 'crm', prefix: 'b' } }
    for (const [prefix, options] of Object.entries(places)) {
      await using opened = await openInboxOf({ redis: server.url, ...options })
      const inbox = bullmqInbox({ connection: server.url, ...options })
      await inbox.put({ key: 'acme:evt_1', ...item })
      await inbox.close()
      expect(await opened.counts()).toMatchObject({ waiting: 1 })
      expect((await redis.keys('*')).filter((key) => key.startsWith(prefix))).not.toEqual([])
    }
    // All connections but this one are closed.
    await expect.poll(async () => String(await redis.client('LIST')).trim()).not.toContain('\n')
  })
})
