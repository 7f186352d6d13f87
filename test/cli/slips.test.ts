import { expect, it } from 'vitest'
import { readLines, runCli } from './run-cli.ts'
import { serve } from './serve.ts'

it('ends commands that filter by a misspelt type or a time to come, since they would find nothing', async () => {
  const { run, create } = await serve()
  const { id } = create()
  const lists = [
    ['deliveries', 'list', id],
    ['replay', '--webhook', id],
  ]
  for (const command of lists) {
    const { code, stdout, stderr } = await run(...command, '--since', '2999-01-01', '--json')
    expect([code, readLines(stdout)]).toMatchObject([2, [{ error: { code: 'usage' } }]])
    expect(stderr).toContain('is in the future')
  }
  for (const command of [...lists, ['inbox', 'replay', '--all', '--sqlite', '/nowhere/app.db']])
    expect(await run(...command, '--type', 'sync.failed,contacts.*')).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining('Did you mean contact.*? If it is intended, write contacts*.') },
    })
  expect((await run('replay', '--webhook', id, '--type', 'invoice.*', '--since', '24h')).code).toBe(0)
})

it('names the commands of groups for one that is not known', async () => {
  const { code, stdout, stderr } = await runCli(['resend', '77aa01', '--json'])
  expect([code, stderr]).toEqual([2, "postern: unknown command 'resend'. Did you mean postern deliveries resend?\n"])
  expect(readLines(stdout)).toMatchObject([{ error: { code: 'usage' } }])
  expect((await runCli(['list'])).stderr).toContain('postern records list or postern webhooks list or ')
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
