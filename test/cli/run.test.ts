import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sign } from 'postern'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { listen } from '../adapters/http/hosts.ts'
import { FiveMinuteTolerance, NeedsLength } from '../check/faulty/deliveries.ts'
import { HandWritten, SECRET } from '../check/faulty/hand-written.ts'
import { Reserialising } from '../check/faulty/signatures.ts'
import { findFreePort } from '../support/programs.ts'
import { runCli } from './run-cli.ts'

const BODY = '{"id": "evt_1", "type": "contact.created"}'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postern-cli-'))
  await writeFile(join(folder, 'body.json'), BODY)
  await writeFile(join(folder, 'secret.txt'), `${SECRET}\n`)
  await writeFile(join(folder, '.env'), `# of the app\nOTHER=1\nWEBHOOK_SECRET="${SECRET}"\n`)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function start(receiver: HandWritten): Promise<string> {
  const { port, close } = await listen(receiver.createServer())
  onTestFinished(close)
  return `http://127.0.0.1:${port}/webhooks`
}

describe('postern', () => {
  it.each([
    ['nothing', [], 2],
    ['an unknown command', ['chekc'], 2],
    ['an unknown command with --help', ['chekc', '--help'], 2],
    ['an unknown command with -h', ['webhooks', 'lst', '-h'], 2],
    ['help of an unknown command', ['help', 'chekc'], 2],
    ['help of a command below a group', ['help', 'webhooks', 'list'], 0],
    ['help of a group', ['webhooks', 'help'], 0],
    ['an unknown option', ['sign', '--secret', 'x'], 2],
    ['no header', ['verify'], 2],
    ['no URL', ['check'], 2],
    ['a time without a unit', ['check', 'http://localhost/', '--timeout', '10'], 2],
    ['half a check', ['check', 'http://localhost/', '--concurrency', '0.5'], 2],
    ['two probes', ['check', 'http://localhost/', '--probe', 'http://localhost/', '--probe-cmd', 'x'], 2],
    ['help', ['--help'], 0],
    ['help of a command', ['check', '--help'], 0],
  ])('exits by its table: %s', async (_what, args, code) => {
    const result = await runCli(args)
    expect(result.code).toBe(code)
    expect(code === 0 ? result.stdout : result.stderr).not.toBe('')
    if (code !== 0) expect(result.stdout).toBe('')
  })

  it('prints its version', async () => {
    expect(await runCli(['--version'])).toEqual({ code: 0, stdout: `${packageJson.version}\n`, stderr: '' })
  })

  it('begins with what to do first, and tells the exit codes', async () => {
    const { stdout } = await runCli(['--help'])
    expect(stdout).toContain('  $ postern dev --forward http://localhost:3000/webhooks --env .env.local\n')
    expect(stdout).toMatch(/Exit codes: 0 done, .* 141 /s)
    expect(stdout).toContain('docs/reference/cli.md')
  })

  it.each([
    ['an unknown command', ['chekc', '--json'], 'usage', 2, /unknown command 'chekc'/],
    ['an unknown option', ['sign', '--json', '--secret', 'x'], 'usage', 2, /unknown option/],
    ['a secret that is missing', ['sign', '--json'], 'usage', 2, /There is no secret/],
    ['a check without a URL', ['check', '--json', '-'], 'usage', 2, /URL of the receiver/],
    ['a port that is taken', ['emulator', '--json', '--port', 'PORT'], 'port_in_use', 3, /cannot listen/],
  ])('writes an error as one JSON object: %s', async (_what, args, code, exitCode, message) => {
    const { port, close } = await listen(createServer())
    onTestFinished(close)
    const result = await runCli(
      args.map((arg) => arg.replace('PORT', `${port}`)),
      { env: {} },
    )
    expect(result.code).toBe(exitCode)
    expect(JSON.parse(result.stdout)).toEqual({ error: { code, message: expect.stringMatching(message) } })
    expect(result.stderr).not.toBe('')
  })

  it('keeps errors off standard output if --json names a file', async () => {
    expect(await runCli(['check', '--json', join(folder, 'report.json')])).toMatchObject({ code: 2, stdout: '' })
  })

  it('says what was probably meant', async () => {
    expect((await runCli(['triger'])).stderr).toContain('Did you mean trigger?')
  })

  it.each(['trigger', 'fixtures', 'check', 'sign', 'verify'])(
    'shows two examples with the help of %s',
    async (command) => {
      const { stdout } = await runCli([command, '--help'])
      expect(stdout.match(/^ {2}\$ .*postern /gm)).toHaveLength(2)
    },
  )
})

describe('postern sign', () => {
  it.each([
    ['by the environment, body on standard input', ['sign'], { stdin: BODY }],
    ['by another variable', ['sign', '--secret-env', 'MINE'], { stdin: BODY, env: { MINE: SECRET } }],
    ['by a file', ['sign', 'FOLDER/body.json', '--secret-file', 'FOLDER/secret.txt'], { env: {} }],
    ['by an env file', ['sign', 'FOLDER/body.json', '--env', 'FOLDER/.env'], { env: { WEBHOOK_SECRET: 'x' } }],
    ["by Node's name for that", ['sign', 'FOLDER/body.json', '--env-file', 'FOLDER/.env'], { env: {} }],
    ['by standard input', ['sign', 'FOLDER/body.json', '--secret-stdin'], { env: {}, stdin: `${SECRET}\n` }],
  ])('takes the secret %s', async (_what, args, setting) => {
    const result = await runCli(
      args.map((arg) => arg.replace('FOLDER', folder)),
      setting,
    )
    expect(result).toEqual({ code: 0, stdout: `${sign(BODY, SECRET)}\n`, stderr: '' })
  })

  it.each([
    ['a secret that is not set', ['sign'], {}, /WEBHOOK_SECRET is not set/],
    ['a secret with a blank', ['sign'], { WEBHOOK_SECRET: 'x ' }, /blank/],
    [
      'an env file that does not set it',
      ['sign', '--env', '/nowhere'],
      { WEBHOOK_SECRET: 'x' },
      /not set in \/nowhere/,
    ],
    ['a file that is not there', ['sign', '/nowhere/at/all'], { WEBHOOK_SECRET: 'x' }, /cannot be read/],
    ['standard input twice', ['sign', '--secret-stdin'], {}, /name the file of the body/],
  ])('refuses %s', async (_what, args, env, message) => {
    const { code, stdout, stderr } = await runCli(args, { env })
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(message)
  })
})

it('postern sign --json prints one object', async () => {
  const { stdout } = await runCli(['sign', '--json'], { stdin: BODY })
  expect(JSON.parse(stdout)).toEqual({ signature: sign(BODY, SECRET) })
})

describe('postern verify', () => {
  it('says nothing to standard output, and exits 0, where the signature is right', async () => {
    const result = await runCli(['verify', '--header', sign(BODY, SECRET)], { stdin: BODY })
    expect(result).toEqual({ code: 0, stdout: '', stderr: 'the signature is right\n' })
  })

  it('explains a mismatch and exits 1, without telling what would be right', async () => {
    const header = sign(BODY, SECRET)
    const stdin = JSON.stringify(JSON.parse(BODY))
    const { code, stderr } = await runCli(['verify', '--header', header], { stdin })
    expect(code).toBe(1)
    expect(stderr).toContain('parsed and re-serialised')
    expect(stderr).not.toContain(sign(stdin, SECRET).slice(7))
    const json = await runCli(['verify', '--json', '--header', header], { stdin })
    expect(JSON.parse(json.stdout)).toMatchObject({ isRight: false, findings: [{ code: 'reserialised' }] })
  })
})

describe('postern verify --delivery', () => {
  const signature = sign(BODY, SECRET)
  const bodyBase64 = Buffer.from(BODY).toString('base64')
  const headers = { 'content-type': 'application/json', 'X-Service-Signature': signature }

  it.each<[string, unknown]>([
    ['headers in any case, and text', { headers, body: BODY }],
    ['headers as lists', { headers: { 'x-service-signature': [signature] }, body: BODY }],
    ['one signature, and bytes', { signature, bodyBase64 }],
    ['bytes beside the text that they were decoded to', { headers, body: `${BODY}\n`, bodyBase64, attempt: 3 }],
  ])('takes %s', async (_what, delivery) => {
    const text = JSON.stringify(delivery, null, 2)
    const right = { code: 0, stdout: '', stderr: 'the signature is right\n' }
    await writeFile(join(folder, 'line.json'), text)
    expect(await runCli(['verify', '--delivery', text])).toEqual(right)
    expect(await runCli(['verify', '--delivery', '@-'], { stdin: text })).toEqual(right)
    expect(await runCli(['verify', '--delivery', `@${join(folder, 'line.json')}`])).toEqual(right)
  })

  it.each<[string, unknown, string]>([
    ['a body that was written again', { headers, body: JSON.stringify(JSON.parse(BODY)) }, 'parsed and re-serialised'],
    ['no signature', { headers: { accept: '*/*' }, body: BODY }, 'The header is empty'],
    ['no headers at all', { body: BODY }, 'The header is empty'],
    [
      'two signatures',
      { headers: { 'x-service-signature': [signature, signature] }, body: BODY },
      'not made of hexadecimal digits',
    ],
  ])('explains %s', async (_what, delivery, text) => {
    const { code, stderr } = await runCli(['verify', '--delivery', JSON.stringify(delivery)])
    expect([code, stderr]).toEqual([1, expect.stringContaining(text)])
  })

  it.each<[string, readonly string[], string]>([
    ['no JSON', ['--delivery', 'line.json'], 'needs one JSON object'],
    ['a list', ['--delivery', '[]'], 'needs one JSON object'],
    [
      'a parsed body',
      ['--delivery', JSON.stringify({ headers, body: JSON.parse(BODY) })],
      'not what a parser made of it',
    ],
    ['headers that are none', ['--delivery', '{"headers":7,"body":""}'], '"headers", an object'],
    ['a signature that is none', ['--delivery', '{"signature":7,"body":""}'], '"signature", text'],
    ['a file that is not there', ['--delivery', '@/nowhere/at/all'], 'cannot be read'],
    ['a header beside it', ['--delivery', '{}', '--header', signature], 'Give --header and the body, or --delivery'],
    ['a body beside it', ['body.bin', '--delivery', '{}'], 'Give --header and the body, or --delivery'],
    ['standard input twice', ['--delivery', '@-', '--secret-stdin'], 'name the file'],
  ])('refuses %s', async (_what, args, text) => {
    const { code, stdout, stderr } = await runCli(['verify', ...args], { stdin: SECRET })
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(text)])
  })
})

describe('postern check', () => {
  const FEW = ['--only', 'accepts-valid,bytes-chunked', '--only', 'late-retry']

  it('exits 0 where nothing fails, and prints what passed', async () => {
    const { code, stdout } = await runCli(['check', await start(new HandWritten()), ...FEW])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^pass {4}late-retry +200 after \d+ ms$/m)
    expect(stdout).toMatch(/: 0 failed, 0 warnings, 3 passed\n$/)
  })

  it('exits 1 where a check fails, and prints that first, with all that helps', async () => {
    const { code, stdout } = await runCli(['check', await start(new FiveMinuteTolerance()), ...FEW])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^fail {4}late-retry +400 after/)
    for (const label of [
      'sent: ',
      'expected: ',
      'came back: ',
      'why: ',
      'hint: ',
      'explained: npx postern check --explain late-retry',
    ])
      expect(stdout).toContain(`          ${label}`)
    expect(stdout).toContain("again: curl -i 'http://127.0.0.1")
    expect(stdout).not.toContain('\u001b')
  })

  it('says first why nothing is accepted, and folds what follows', async () => {
    const url = await start(new Reserialising())
    const { code, stdout } = await runCli(['check', url, ...FEW])
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^The JSON is parsed and written again .*\n2 checks follow from this; --all shows them\n\nfail {4}accepts-valid/,
    )
    expect(stdout).not.toContain('late-retry')
    expect((await runCli(['check', url, ...FEW, '--all'])).stdout).toMatch(/^fail {4}late-retry/m)
  })

  it('counts warnings only when it is strict', async () => {
    const url = await start(new NeedsLength())
    expect((await runCli(['check', url, ...FEW])).code).toBe(0)
    expect((await runCli(['check', url, ...FEW, '--strict'])).code).toBe(1)
  })

  it('is coloured at a terminal, unless NO_COLOR is set', async () => {
    const url = await start(new HandWritten())
    const env = { WEBHOOK_SECRET: SECRET, NO_COLOR: '1' }
    expect((await runCli(['check', url, ...FEW], { isTTY: true, env })).stdout).not.toContain('\u001b')
    // The library of Node asks its own process too, and a test run may have no colours.
    expect((await runCli(['check', url, ...FEW], { isTTY: true })).code).toBe(0)
  })

  it('writes reports: one object to standard output, the others to files', async () => {
    const url = await start(new HandWritten())
    const files = { junit: join(folder, 'report.xml'), md: join(folder, 'report.md') }
    const { code, stdout } = await runCli([
      'check',
      url,
      ...FEW,
      '--json',
      '-',
      '--junit',
      files.junit,
      '--md',
      files.md,
    ])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ schema: 1, tool: 'postern', summary: { pass: 3 } })
    expect(await readFile(files.junit, 'utf8')).toContain('<testsuites')
    expect(await readFile(files.md, 'utf8')).toContain('## postern check')
    expect((await runCli(['check', url, ...FEW, '--md', '/nowhere/at/all'])).code).toBe(2)
  })

  it('exits 2 for a host that is not this machine, and 3 where nothing answers', async () => {
    const remote = await runCli(['check', 'http://hooks.example.test/'])
    expect(remote.code).toBe(2)
    expect(remote.stderr).toContain('--yes')
    expect((await runCli(['check', `http://127.0.0.1:${await findFreePort()}/`])).code).toBe(3)
  })

  it('exits 130 when interrupted, with a summary of what was done', async () => {
    const stop = new AbortController()
    const { port, close } = await listen(
      createServer((request, response) => {
        stop.abort()
        request.resume().on('end', () => response.end())
      }),
    )
    onTestFinished(close)
    const result = await runCli(['check', `http://127.0.0.1:${port}/`], { interrupt: stop.signal })
    expect(result.code).toBe(130)
    expect(result.stdout).toMatch(/1 passed, \d+ skipped\n$/)
  })

  it('prints the page of a check', async () => {
    const { code, stdout } = await runCli(['check', '--explain', 'late-retry'], { env: {} })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^# late-retry\n/)
    expect((await runCli(['check', '--explain', 'late'])).code).toBe(2)
  })
})
