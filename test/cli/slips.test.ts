import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeTestFolder } from '../support/test-folder.ts'
import { makeDeadLetters } from './make-dead-letters.ts'
import { readLines, runCli } from './run-cli.ts'
import { serve } from './serve.ts'

describe('a slip that would leave nothing to do', () => {
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
  const window = [
    ['a time to come', tomorrow, /is in the future/],
    ['a day that is none', '2025-02-30', /duration, 24h or 7d, or a date/],
    ['a time of no day', '2025-02-28T25:00:00Z', /duration, 24h or 7d, or a date/],
    ['a length beyond all dates', '200000000d', /at most 100 years/],
  ] as const
  it.each(window)('ends deliveries list and replay with 2: --since with %s', async (_what, since, message) => {
    const { run, create } = await serve()
    const { id } = create()
    for (const command of [
      ['deliveries', 'list', id],
      ['replay', '--webhook', id],
    ]) {
      const { code, stdout, stderr } = await run(...command, '--since', since, '--json')
      expect([code, readLines(stdout)]).toMatchObject([2, [{ error: { code: 'usage' } }]])
      expect(stderr).toMatch(message)
    }
  })

  it.each(['2024-02-29', '2024-12-31T23:59:59Z', '24h', '36500d'])('accepts --since %s', async (since) => {
    const { run, create } = await serve()
    expect((await run('replay', '--webhook', create().id, '--since', since)).code).toBe(0)
  })

  const types = [
    ['contact.craeted', 'contact.created'],
    ['contcat.created', 'contact.created'],
    ['contacts.*', 'contact.*'],
    ['opportunity.create', 'opportunity.created'],
    ['sycn.*', 'sync.*'],
    ['finance.payment.faild', 'finance.payment.failed'],
  ] as const
  it.each(types)('ends a replay with 2: --type %s', async (type, meant) => {
    const { run, create } = await serve()
    const { id } = create()
    for (const command of [
      ['deliveries', 'list', id],
      ['replay', '--webhook', id],
      ['inbox', 'replay', '--all', '--sqlite', '/nowhere/app.db'],
    ]) {
      const { code, stderr } = await run(...command, '--type', `sync.failed,${type}`)
      expect([code, stderr]).toEqual([2, expect.stringContaining(`Did you mean ${meant}?`)])
      expect(stderr).toContain(`write ${type.replace('.*', '')}*`)
    }
  })

  it.each([...'invoice.paid invoice.created invoice.* *.deleted contacts* cont*.created finance.* *'.split(' ')])(
    'accepts --type %s, which may be meant',
    async (type) => {
      const { run, create } = await serve()
      expect((await run('replay', '--webhook', create().id, '--type', type)).code).toBe(0)
    },
  )
})

it.each(['200000000d', '36501d'])('trigger ends with 2 if an event is to be %s late', async (late) => {
  const { code, stderr } = await runCli(['trigger', 'contact.created', '--late', late])
  expect([code, stderr]).toEqual([2, expect.stringContaining('at most 100 years')])
})

it.each([
  ['webhooks list', '--password=hunter2'],
  ['sign', '--secret=hunter2'],
  ['trigger contact.created', '-s=hunter2'],
  ['replay --webhook x', '--pasword-env=hunter2'],
])('%s does not repeat the value in %s', async (command, option) => {
  const { code, stdout, stderr } = await runCli([...command.split(' '), option, '--json'])
  expect(code).toBe(2)
  expect(stderr).toContain(`unknown option '${option.replace('=hunter2', '')}'`)
  expect(readLines(stdout)).toMatchObject([{ error: { code: 'usage' } }])
  expect(stdout + stderr).not.toContain('hunter2')
})

it('inbox replay accepts types that may be meant', async () => {
  const folder = makeTestFolder()
  const file = join(folder, 'app.db')
  await makeDeadLetters(file, [{ id: 'evt_1' }])
  const { code, stderr } = await runCli(['inbox', 'replay', '--all', '--type', 'invoice.*', '--sqlite', file])
  expect([code, stderr]).toEqual([0, 'there is no such dead letter\n'])
})
