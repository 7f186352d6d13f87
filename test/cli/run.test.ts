import { createServer } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { listen } from '../adapters/http/hosts.ts'
import { ended, runCli } from './run-cli.ts'

describe('postern', () => {
  it.each([
    ['chekc', 2],
    ['help chekc', 2],
    ['webhooks help', 0],
    ['sign --secret x', 2],
    ['--help', 0],
  ])('exits by its table: %s', async (line, code) => {
    const result = await runCli(line)
    expect(result.code).toBe(code)
    expect(code === 0 ? result.stdout : result.stderr).not.toBe('')
    if (code !== 0) expect(result.stdout).toBe('')
  })

  it('prints its version', async () => {
    for (const word of ['--version', '-v', 'version'])
      expect(await runCli([word])).toEqual({ code: 0, stdout: `${packageJson.version}\n`, stderr: '' })
  })

  it.each([
    ['an unknown command', 'chekc --json', 'usage', 2, /unknown command 'chekc'/],
    ['a secret that is missing', 'sign --json', 'usage', 2, /There is no secret/],
    ['a check without a URL, in one word', 'check --json=-', 'usage', 2, /URL of the receiver/],
    ['a port that is taken', 'emulator --json --port PORT', 'port_in_use', 3, /cannot listen/],
  ])('writes an error as one JSON object: %s', async (_what, args, code, exitCode, message) => {
    const { port, close } = await listen(createServer())
    onTestFinished(close)
    const result = await runCli(args.replace('PORT', `${port}`), { env: {} })
    expect(result.code).toBe(exitCode)
    expect(JSON.parse(result.stdout)).toEqual({ error: { code, message: expect.stringMatching(message) } })
    expect(result.stderr).not.toBe('')
  })

  it('writes an error once for people, with its advice', async () => {
    const { stderr } = await runCli(['sign'], { env: {} })
    expect(stderr).toMatch(/^postern: There is no secret: [^\n]* \(--secret-stdin\)\.\n$/)
    expect((await runCli(['chekc'])).stderr).not.toContain('postern: ')
    const asked = await runCli(['logs', '--emulator', 'http://127.0.0.1:1'], { env: {} })
    expect(asked.stderr).toMatch(/^postern: No emulator answers at \S+\. Start one in another terminal:\n/)
  })

  it('reports an interrupt as such, and any other failure as itself', async () => {
    const interrupt = AbortSignal.abort()
    const interrupted = await runCli(['sign', '--json'], { interrupt })
    expect(interrupted).toMatchObject({ code: 130, stderr: 'postern: interrupted\n' })
    expect(JSON.parse(interrupted.stdout)).toEqual({ error: { code: 'interrupted', message: 'interrupted' } })
    const { port, close } = await listen(createServer())
    onTestFinished(close)
    expect((await runCli(['emulator', '--port', `${port}`], { interrupt })).code).toBe(3)
  })

  it('hides none of its own defects', async () => {
    const env = {
      get WEBHOOK_SECRET(): string {
        throw new TypeError('defect')
      },
    }
    await expect(runCli(['sign', '--json'], { env })).rejects.toThrow('defect')
  })

  it('lists every command in its help', async () => {
    const { stdout } = await runCli(['--help'])
    const names = [...stdout.matchAll(/^ {2}(\w+) (?:\[|<| {3})/gm)].map(([, name]) => name)
    expect(names).toEqual([
      ...['dev', 'trigger', 'check', 'sign', 'verify', 'fixtures'],
      ...['emulator', 'logs', 'webhooks', 'deliveries', 'replay', 'inbox', 'help'],
    ])
  })

  it('suggests the option that was probably meant, for each option of each command', async () => {
    const help = async (path: readonly string[]) => (await runCli([...path, '--help'])).stdout
    const namesIn = (text: string) => [...text.matchAll(/^ {2}(\w+) (?:\[|<| {3})/gm)].map(([, name = '']) => name)
    const commands = namesIn(await help([])).filter((name) => name !== 'help')
    const paths: string[][] = []
    for (const name of commands) {
      const inner = namesIn((await help([name])).split('Commands:')[1] ?? '').filter((each) => each !== 'help')
      paths.push(...(inner.length > 0 ? inner.map((each) => [name, each]) : [[name]]))
    }
    let tried = 0
    for (const path of paths)
      for (const [, option = ''] of (await help(path)).matchAll(/^ {2}(?:-\w, )?(--[\w-]{5,})/gm)) {
        const misspelt = `${option.slice(0, 3)}${option.slice(4)}`
        const { code, stderr } = await runCli([...path, misspelt])
        expect([code, stderr], `${path.join(' ')} ${misspelt}`).toEqual([
          2,
          expect.stringMatching(`Did you mean .*${option}[,?]`),
        ])
        tried++
      }
    expect(tried).toBeGreaterThan(100)
  })

  it.each([
    ['inbox list waiting', 'Did you mean --state waiting?'],
    ['inbox waiting', 'Did you mean list --state waiting?'],
    ['deliveries list w1 failed', 'Did you mean --failed?'],
    ['dev --forwad http://localhost:3000/webhooks', 'Did you mean --forward?'],
    ['replay --webhook w1 --journal --dry-run', '--journal needs a value, and --dry-run is an option'],
    ['replay --webhook w1 --dry-run=false', '--dry-run takes no value: write it alone, or leave it out.'],
    ['trigger contact.created --watch=true', '--watch takes no value'],
    ['inbox replay --all=true', '--all takes no value'],
    ['trigger contact.created --emulator 127.0.0.1:45812', 'write it whole: http://127.0.0.1:45812\n'],
    ['check http://localhost:3000 --junit --strict', '--junit needs a value, and --strict is an option'],
    [
      'webhooks ensure --url http://h/ --events a.created --secret-file=',
      '--secret-file is empty. Is its variable set?',
    ],
    ['webhooks list --email-env ', '--email-env is empty.'],
    ['webhooks list --password-file ', '--password-file is empty.'],
    ['replay --webhook w --journal ', '--journal is empty.'],
    ['sign body.json --env ', '--env is empty.'],
    ['emulator --seed ', '--seed is empty.'],
    ['inbox list --postgres ', '--postgres is empty.'],
    ['inbox drop k --sqlite f --state dead', "unknown option '--state'. --help tells what there is."],
    ['webhooks create --url http://h/ --events a.created --to-env f', "'--to-env'. --help tells what there is."],
    ['emulator --assume urlRul=any', 'a name such as urlRule'],
    ['dev --port 0 --yes --forward http://app:3000/webhooks', 'add --assume urlRule=any'],
  ])('tells the remedy: %s', async (line, told) => {
    expect(await runCli(line)).toEqual(ended(2, told))
  })

  it('warns of an option with several values, of which the last one counts', async () => {
    const told = async (file: string) =>
      (await runCli(['sign', '--secret-file', 'none.a', `--secret-file=${file}`])).stderr
    expect(await told('none.b')).toContain('--secret-file takes one value, and was given 2: the last one counts.')
    expect(await told('none.a')).not.toContain('the last one')
  })

  it.each([
    ['emulator --assumptions --assume listBody=items --assume idName=id --host-allow a --host-allow b', ''],
    ['emulator --assumptions --account a:a@x.test:p --account b:b@x.test:p', ''],
    [
      'emulator --assumptions --assume idName=id --assume idName=both',
      '--assume idName takes one value, and was given 2',
    ],
    ['trigger contact.created --to none --set data.a=1 --set data.b=2', ''],
    [
      'trigger contact.created --to none --set data.a=1 --set=data.a=2',
      '--set data.a takes one value, and was given 2',
    ],
    ['check --only a --only b --skip c --skip d', ''],
    ['replay --webhook w --type contact.* --type deal.* --limit 0 --base-url x', ''],
    ['webhooks create --url x --events a.b --events b.c --secret-file none', ''],
    ['fixtures --out none --model deal --model ticket --secret-file none', ''],
  ])('warns of options that may be repeated only if one value replaces another: %s', async (line, told) => {
    const { stderr } = await runCli(line)
    if (told === '') expect(stderr).not.toContain('the last one counts')
    else expect(stderr).toContain(`${told}: the last one counts.`)
  })

  it('suggests the command that was probably meant, also one of a group', async () => {
    expect(await runCli('triger')).toEqual(ended(2, 'Did you mean trigger?'))
    const advice = "postern: unknown command 'resend'. Did you mean postern deliveries resend?\n"
    expect(await runCli('resend 77aa01')).toEqual(ended(2, advice))
    expect(await runCli('list')).toEqual(ended(2, 'postern webhooks list or postern deliveries list or '))
  })

  it.each([
    ['webhooks list', '--password=hunter2'],
    ['trigger contact.created', '-s=hunter2'],
    ['replay --webhook x', '--pasword-env=hunter2'],
  ])('%s does not repeat the value in %s', async (command, option) => {
    const { code, stdout, stderr } = await runCli(`${command} ${option} --json`)
    expect([code, JSON.parse(stdout)]).toMatchObject([2, { error: { code: 'usage' } }])
    expect(stderr).toContain(`unknown option '${option.replace('=hunter2', '')}'`)
    expect(stdout + stderr).not.toContain('hunter2')
  })

  it('shows two examples with the help of each command', async () => {
    const commands = await listCommands([])
    expect(commands.length).toBeGreaterThan(25)
    for (const command of commands) {
      const { stdout } = await runCli([...command, '--help'])
      const count = command.join(' ') === 'inbox replay' ? 3 : 2
      expect(stdout.match(/^ {2}\$ .*postern /gm), command.join(' ')).toHaveLength(count)
    }
  })
})

/** Returns the words of a command and of each below it, which its help lists. */
async function listCommands(words: readonly string[]): Promise<readonly (readonly string[])[]> {
  const { stdout } = await runCli([...words, '--help'])
  const isGroup = words.length === 0 || stdout.includes('\nCommands:\n')
  const names = isGroup ? [...stdout.matchAll(/^ {2}(\w+) (?:\[|<| {3})/gm)].map(([, name = '']) => name) : []
  const below = names.filter((name) => name !== 'help').map((name) => listCommands([...words, name]))
  return [...(words.length === 0 ? [] : [words]), ...(await Promise.all(below)).flat()]
}
