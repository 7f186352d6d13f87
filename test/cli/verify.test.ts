import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sign } from 'postern'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SECRET } from '../check/faulty/hand-written.ts'
import { runCli } from './run-cli.ts'

const BODY = '{"id": "evt_1", "type": "contact.created"}'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postern-cli-'))
  await writeFile(join(folder, 'body.json'), BODY)
  await writeFile(join(folder, 'secret.txt'), `${SECRET}\n`)
  await writeFile(join(folder, 'marked.txt'), `\ufeff${SECRET}\r\n`)
  await writeFile(join(folder, '.env'), `# of the app\nOTHER=1\nWEBHOOK_SECRET="${SECRET}"\n`)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('postern sign', () => {
  it.each([
    ['by the environment, body on standard input', ['sign'], { stdin: BODY }],
    ['by a file', ['sign', 'FOLDER/body.json', '--secret-file', 'FOLDER/secret.txt'], { env: {} }],
    [
      'by a file with a byte order mark',
      ['sign', 'FOLDER/body.json', '--secret-file', 'FOLDER/marked.txt'],
      { env: {} },
    ],
    ["by Node's name for that", ['sign', 'FOLDER/body.json', '--env-file', 'FOLDER/.env'], { env: {} }],
    ['by standard input', ['sign', 'FOLDER/body.json', '--secret-stdin'], { env: {}, stdin: `${SECRET}\n` }],
  ])('accepts the secret %s', async (_what, args, setting) => {
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
    ['standard input twice', ['sign', '--secret-stdin'], {}, /name the file of the body/],
  ])('refuses %s', async (_what, args, env, message) => {
    const { code, stdout, stderr } = await runCli(args, { env })
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(message)
  })
})

it.each([
  ['UTF-16', Buffer.from(`\ufeff${SECRET}\n`, 'utf16le')],
  ['UTF-16 without a mark', Buffer.from(SECRET, 'utf16le')],
  ['Latin-1', Buffer.from('sécret', 'latin1')],
])('postern sign refuses a secret in %s, which would be another one', async (_what, bytes) => {
  const file = join(folder, 'other.txt')
  await writeFile(file, bytes)
  const refusal = { code: 2, stdout: '', stderr: `postern: ${file} is not UTF-8 text.\n` }
  expect(await runCli(['sign', '--secret-file', file], { stdin: BODY, env: {} })).toEqual(refusal)
})

it('postern sign refuses a secret in an env file that is not UTF-8, which would be another one', async () => {
  const file = join(folder, 'latin1.env')
  await writeFile(file, Buffer.from('# Stra\u00dfe\nWEBHOOK_SECRET=s\u00e9cret\nOTHER=whsec_1\n', 'latin1'))
  const refusal = { code: 2, stdout: '', stderr: 'postern: The value of WEBHOOK_SECRET is not UTF-8 text.\n' }
  expect(await runCli(['sign', '--env', file], { stdin: BODY, env: {} })).toEqual(refusal)
  expect(await runCli(['sign', '--env', file, '--secret-env', 'OTHER'], { stdin: BODY })).toMatchObject({ code: 0 })
})

it('postern sign --json prints one object', async () => {
  const { stdout } = await runCli(['sign', '--json'], { stdin: BODY })
  expect(JSON.parse(stdout)).toEqual({ signature: sign(BODY, SECRET) })
})

describe('postern verify', () => {
  it('prints nothing to standard output, and exits 0, if the signature is right', async () => {
    const result = await runCli(['verify', '--header', sign(BODY, SECRET)], { stdin: BODY })
    expect(result).toEqual({ code: 0, stdout: '', stderr: 'the signature is right\n' })
  })

  it('explains a mismatch and exits 1, without the right signature', async () => {
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
  ])('accepts %s', async (_what, delivery) => {
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
    [
      'a parsed body',
      ['--delivery', JSON.stringify({ headers, body: JSON.parse(BODY) })],
      'not what a parser made of it',
    ],
    ['headers that are none', ['--delivery', '{"headers":7,"body":""}'], '"headers", an object'],
    ['a signature that is none', ['--delivery', '{"signature":7,"body":""}'], '"signature", text'],
    ['a header beside it', ['--delivery', '{}', '--header', signature], 'Give --header and the body, or --delivery'],
    ['a body beside it', ['body.bin', '--delivery', '{}'], 'Give --header and the body, or --delivery'],
    ['standard input twice', ['--delivery', '@-', '--secret-stdin'], 'name the file'],
  ])('refuses %s', async (_what, args, text) => {
    const { code, stdout, stderr } = await runCli(['verify', ...args], { stdin: SECRET })
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(text)])
  })
})
