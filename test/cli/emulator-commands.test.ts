import { systemClock } from 'postern'
import { describe, expect, it } from 'vitest'
import { start } from '../emulator/support.ts'
import { findFreePort } from '../support/programs.ts'
import { recordDeliveries } from './recording-server.ts'
import { ended, readLines, runCli, startCli } from './run-cli.ts'

/** An emulator, and command lines that find it by the environment. */
async function serveEmulator(...options: Parameters<typeof start>) {
  const crm = await start(...options)
  const env = { POSTERN_BASE_URL: crm.url }
  return {
    crm,
    env,
    run: (...args: string[]) => runCli(args, { env }),
    begin: (args: string[], isTTY = false) => startCli(args, { env, isTTY }),
  }
}

describe('the address of the emulator', () => {
  it('is named, with its variable, if no emulator answers there', async () => {
    const url = `http://127.0.0.1:${await findFreePort()}`
    for (const line of ['logs', 'clock', 'faults show', 'records list contact', 'reset --yes']) {
      const { code, stdout, stderr } = await runCli(`${line} --json`, { env: { POSTERN_BASE_URL: url } })
      const message = `No emulator answers at ${url} (POSTERN_BASE_URL).`
      expect([code, stderr]).toEqual([3, expect.stringContaining(`${message} Start one in another terminal:\n`)])
      const fix = expect.stringContaining('npx postern dev --forward http://localhost:3000/webhooks')
      expect(readLines(stdout)).toEqual([{ error: { code: 'unreachable', message, fix } }])
    }
  })
})

describe('postern clock', () => {
  it('shows a manual clock and moves it', async () => {
    const { crm, run } = await serveEmulator()
    crm.webhooks.create({ url: `http://127.0.0.1:${await findFreePort()}/`, events: ['contact.created'] })
    const begin = crm.clock.now()
    const idle = await run('clock', '--next')
    expect([idle.code, idle.stderr]).toEqual([1, 'no attempt is planned; the clock was not moved\n'])
    crm.events.emit({ type: 'contact.created' })
    expect((await run('clock', '--advance', '1s')).code).toBe(0)
    expect(crm.clock.now()).toBe(begin + 1_000)
    const { code, stdout } = await run('clock', '--next', '--json')
    expect(code).toBe(0)
    const now = new Date(crm.clock.now()).toISOString()
    expect(readLines(stdout)).toMatchObject([{ isManual: true, moved: true, now }])
    expect(crm.deliveries.list()[0]?.attempts).toHaveLength(2)
    expect((await run('clock')).stdout).toMatch(
      /^clock +manual: it stands still until it is moved\nnow +\S+Z\nnext attempt +\d\S+Z\nin flight +0\n$/,
    )
  })

  it("cannot move the machine's clock, or move in two ways", async () => {
    const { run } = await serveEmulator({ clock: systemClock })
    expect((await run('clock')).stdout).toMatch(/^clock +the machine's\nnow +\S+\nnext attempt +-\n/)
    expect(await run('clock', '--advance', '30s')).toEqual(ended(2, '--clock manual'))
    expect((await run('clock', '--advance', '30s', '--next')).code).toBe(2)
  })
})

describe('postern faults', () => {
  it('adds, shows and clears them', async () => {
    const { run } = await serveEmulator({ faults: { fail: 0.5 } })
    expect((await run('faults', 'show')).stdout).toBe('ON          FAULT\ndeliveries  0.5 of the attempts are lost\n')
    const args = '--answer slow --count 3 --delay 2s --duplicate 1 --latency 50-500ms --shuffle --json'.split(' ')
    const set = await run('faults', 'set', ...args)
    expect(set.code).toBe(0)
    const answers = [{ answer: 'slow', count: 3, delayMs: 2_000 }]
    const deliveries = { fail: 0, duplicate: 1, shuffle: true, latencyMs: [50, 500] }
    expect(readLines(set.stdout)).toEqual([{ answers, deliveries }])
    expect((await run('faults', 'set', '--answer', '429')).stdout).toBe(
      [
        'ON          FAULT',
        'API         an answer after 2 s, 3 times',
        'API         429, 1 times',
        'deliveries  1 of the attempts are sent twice',
        'deliveries  in any order',
        'deliveries  after 50 ms to 500 ms',
        '',
      ].join('\n'),
    )
    expect(readLines((await run('faults', 'clear', '--json')).stdout)).toMatchObject([
      { answers: [], deliveries: { fail: 0.5, duplicate: 0, shuffle: false } },
    ])
    expect((await run('faults', 'set', '--fail', '0')).stdout).toBe('no faults\n')
  })

  it.each([
    ['nothing', [], 'Give --answer'],
    ['a count alone', ['--count', '3', '--fail', '0.1'], '--count and --delay are for --answer'],
    ['a delay alone', ['--delay', '3s'], '--count and --delay are for --answer'],
  ])('refuses %s', async (_what, args, words) => {
    expect(await runCli(['faults', 'set', ...args])).toEqual(ended(2, words))
  })
})

describe('postern records', () => {
  it('creates, lists, updates and deletes, and each change fires its event', async () => {
    const { received, url } = await recordDeliveries()
    const { crm, run } = await serveEmulator()
    crm.webhooks.create({ url, events: ['contact.created', 'contact.updated', 'contact.deleted'] })
    expect(await run('records', 'list', 'contact')).toEqual({ code: 0, stdout: '', stderr: 'there is no contact\n' })
    const create = await run('records', 'create', 'contact', '--set', 'email=zoe@example.test', '--json')
    const [created] = readLines(create.stdout)
    expect(created).toMatchObject({ _id: expect.any(String), email: 'zoe@example.test', status: expect.any(String) })
    const id = String(created?._id)
    expect((await run('records', 'list', 'contact')).stdout).toMatch(/^_id .* email .*\n.* zoe@example\.test .*\n$/)
    const updated = await run('records', 'update', 'contact', id, '--set', 'status=customer')
    expect([updated.code, updated.stdout]).toEqual([0, expect.stringMatching(/customer/)])
    expect(crm.records.get('contact', id)).toMatchObject({ email: 'zoe@example.test', status: 'customer' })
    await run('records', 'update', 'contact', id, '--data', '{"tags":["a"]}')
    expect(crm.records.get('contact', id)).toMatchObject({ status: 'customer', tags: ['a'] })
    expect(await run('records', 'delete', 'contact', id, '--yes')).toEqual(ended(0, `contact ${id} is deleted\n`))
    await crm.deliveries.whenIdle()
    const actions = received.map(({ event }) => event.type.replace('contact.', ''))
    expect(actions).toEqual(['created', 'updated', 'updated', 'deleted'])
    expect(received.at(-1)?.event.data).toEqual({ record: { _id: id } })
  })

  it('accepts any model, an account and fields as they are', async () => {
    const { crm, run } = await serveEmulator()
    const args = ['--data', '{"_id":"o1","title":"Roof","value":1200}', '--account', 'globex']
    expect((await run('records', 'create', 'opportunity', ...args)).code).toBe(0)
    expect(crm.records.list('opportunity')).toEqual([])
    const roof = { _id: 'o1', title: 'Roof', value: 1200 }
    expect(crm.records.list('opportunity', { accountKey: 'globex' })).toEqual([roof])
    const gone = await run('records', 'delete', 'opportunity', 'o1', '--yes', '--json', '--account', 'globex')
    expect(readLines(gone.stdout)).toEqual([{ _id: 'o1', isDeleted: true }])
  })

  it('asks before it deletes, and refuses without a terminal', async () => {
    const { crm, env, begin } = await serveEmulator()
    const { _id: id } = crm.records.create('contact', {})
    const asked = begin(['records', 'delete', 'contact', id])
    await asked.until(/\[y\/N]/)
    asked.press('n')
    expect(await asked.exitCode).toBe(1)
    expect(asked.stderr).toBe(`Record ${id} would be deleted. [y/N] \npostern: nothing was changed\n`)
    const { code, stdout } = await runCli(['records', 'delete', 'contact', id, '--json'], { env, hasKeys: false })
    expect(code).toBe(2)
    const message = `Record ${id} would be deleted.`
    expect(readLines(stdout)).toEqual([{ error: { code: 'usage', message, fix: 'If this is intended, add --yes.' } }])
    expect(crm.records.list('contact')).toHaveLength(1)
    const meant = begin(['records', 'delete', 'contact', id])
    await meant.until(/\[y\/N]/)
    meant.press('y')
    expect(await meant.exitCode).toBe(0)
    expect(crm.records.list('contact')).toEqual([])
  })

  it.each([
    ['a misspelt field', ['create', 'contact', '--set', 'emial=x'], 2, 'Did you mean email?'],
    ['an update with nothing', ['update', 'contact', 'x'], 2, 'Give --set, --data or both'],
    ['a model that cannot be', ['list', '1x'], 2, 'not a model key'],
    ['an unknown record', ['update', 'contact', 'x', '--set', 'a=b'], 1, 'there is no such contact'],
  ])('refuses %s', async (_what, args, code, words) => {
    const { run } = await serveEmulator()
    expect(await run('records', ...args)).toEqual(ended(code, words))
  })
})

describe('postern reset', () => {
  it('empties the emulator, after a confirmation', async () => {
    const { crm, env, run } = await serveEmulator()
    crm.records.create('contact', {})
    expect(await runCli(['reset'], { env, hasKeys: false })).toMatchObject({ code: 2, stdout: '' })
    expect(crm.records.list('contact')).toHaveLength(1)
    expect(await run('reset', '--yes')).toEqual(ended(0, `the emulator at ${crm.url} is empty\n`))
    expect(crm.records.list('contact')).toEqual([])
    expect(readLines((await run('reset', '--yes', '--json')).stdout)).toEqual([{ url: crm.url, isReset: true }])
  })
})

describe('postern logs', () => {
  it('shows attempts as dev does, until Ctrl-C', async () => {
    const { url } = await recordDeliveries((_request, count) => (count === 1 ? 500 : 200))
    const { crm, begin } = await serveEmulator()
    crm.webhooks.create({ url, events: ['contact.created'] })
    const logs = begin(['logs'])
    await logs.until(/until Ctrl-C/)
    expect(logs.stderr).toBe(`attempts of the emulator at ${crm.url} from now on, until Ctrl-C
earlier ones: postern deliveries list, or ${crm.url}/_inspector\n`)
    crm.events.emit({ type: 'contact.created', id: 'evt_1' })
    await logs.until(/^\d\d:\d\d:\d\d {2}contact\.created +evt_1 +1\/5 +500 +\d+ ms {2}next in 30 s$/m)
    await crm.clock.next()
    await logs.until(/evt_1 +2\/5 +200 +\d+ ms$/m)
    crm.events.emit({ type: 'contact.created' })
    await logs.until(/1\/5 +200/)
    logs.interrupt()
    expect(await logs.exitCode).toBe(130)
    expect(logs.stderr).toMatch(/2 deliveries, 3 attempts: 2 acknowledged, 0 failed, 0 pending\n$/)
  })

  it('writes one object a line with --json, and ends with 3 when the emulator does', async () => {
    const { url } = await recordDeliveries(() => 500)
    const { crm, begin } = await serveEmulator()
    crm.webhooks.create({ url, events: ['contact.created'] })
    const logs = begin(['logs', '--json'])
    await logs.until(/"ready"/)
    crm.events.emit({ type: 'contact.created' })
    await logs.until(/"attempt"/)
    await crm.close()
    expect(await logs.exitCode).toBe(3)
    expect(readLines(logs.stdout)).toMatchObject([
      { type: 'ready', emulator: crm.url },
      { type: 'attempt', number: 1, status: 500, delivery: 'pending', nextAttemptAt: expect.stringMatching(/Z$/) },
      { type: 'summary', deliveries: 1, attempts: 1, succeeded: 0, failed: 0, pending: null },
      { error: { code: 'unreachable' } },
    ])
  })
})
