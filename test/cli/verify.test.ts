import { sign } from 'postern'
import { beforeEach, describe, expect, it } from 'vitest'
import { SECRET } from '../check/faulty/hand-written.ts'
import { useFolder } from './folder.ts'
import { ended, runCli } from './run-cli.ts'

const BODY = '{"id": "evt_1", "type": "contact.created"}'

const folder = useFolder()
beforeEach(async () => {
  await folder.write('body.json', BODY)
  await folder.write('secret.txt', `${SECRET}\n`)
  await folder.write('marked.txt', `\ufeff${SECRET}\r\n`)
  await folder.write('.env', `# of the app\nOTHER=1\nWEBHOOK_SECRET="${SECRET}"\n`)
})

describe('postern sign', () => {
  it.each([
    ['by the environment, body on standard input', 'sign', { stdin: BODY }],
    ['by a file', 'sign FOLDER/body.json --secret-file FOLDER/secret.txt', { env: {} }],
    ['by a file with a byte order mark', 'sign FOLDER/body.json --secret-file FOLDER/marked.txt', { env: {} }],
    ["by Node's name for that", 'sign FOLDER/body.json --env-file FOLDER/.env', { env: {} }],
    ['by standard input', 'sign FOLDER/body.json --secret-stdin', { env: {}, stdin: `${SECRET}\n` }],
  ])('accepts the secret %s', async (_what, line, setting) => {
    const result = await runCli(line.replaceAll('FOLDER', folder.path), setting)
    expect(result).toEqual({ code: 0, stdout: `${sign(BODY, SECRET)}\n`, stderr: '' })
  })

  it.each([
    ['a secret that is not set', 'sign', {}, 'WEBHOOK_SECRET is not set'],
    ['a secret with a blank', 'sign', { WEBHOOK_SECRET: 'x ' }, 'blank'],
    ['a missing env file', 'sign --env /nowhere', { WEBHOOK_SECRET: 'x' }, '/nowhere cannot be read: ENOENT'],
    ['standard input twice', 'sign --secret-stdin', {}, 'name the file of the body'],
  ])('refuses %s', async (_what, line, env, words) => {
    expect(await runCli(line, { env, stdin: SECRET })).toEqual(ended(2, words))
  })
})

it.each([
  ['UTF-16', Buffer.from(`\ufeff${SECRET}\n`, 'utf16le')],
  ['UTF-16 without a mark', Buffer.from(SECRET, 'utf16le')],
  ['Latin-1', Buffer.from('sécret', 'latin1')],
])('postern sign refuses a secret in %s, which would be another one', async (_what, bytes) => {
  await folder.write('other.txt', bytes)
  const refused = await runCli(`sign --secret-file ${folder.at('other.txt')}`, { stdin: BODY, env: {} })
  expect(refused).toEqual(ended(2, `postern: ${folder.at('other.txt')} is not UTF-8 text.\n`))
})

it('an empty body is named as such', async () => {
  const signed = {
    code: 0,
    stdout: `${sign('', SECRET)}\n`,
    stderr: 'standard input is empty: this signs an empty body\n',
  }
  expect(await runCli('sign', { stdin: '' })).toEqual(signed)
  expect(await runCli(['verify', '--header', sign('', SECRET)], { stdin: '' })).toMatchObject({ code: 0 })
  const refused = await runCli(['verify', '--header', sign(BODY, SECRET)], { stdin: '' })
  expect(refused).toEqual(ended(1, /^the signature does not verify\n {2}The body is empty: [^\n]*\n$/))
})

it('postern sign --json prints one object', async () => {
  const { stdout } = await runCli(['sign', '--json'], { stdin: BODY })
  expect(JSON.parse(stdout)).toEqual({ signature: sign(BODY, SECRET) })
})

describe('postern verify', () => {
  it.each(['', 'X-Service-Signature: ', 'x-service-signature=', 'X-Service-Signature = '])(
    'prints nothing, and exits 0, if the signature is right: %s',
    async (name) => {
      const result = await runCli(['verify', '--header', name + sign(BODY, SECRET)], { stdin: BODY })
      expect(result).toEqual({ code: 0, stdout: '', stderr: 'the signature is right\n' })
    },
  )

  it('explains a mismatch and exits 1, without the right signature', async () => {
    const header = sign(BODY, SECRET)
    const stdin = JSON.stringify(JSON.parse(BODY))
    const { code, stderr } = await runCli(['verify', '--header', header], { stdin })
    expect(code).toBe(1)
    expect(stderr).toContain('parsed and serialized again')
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
    await folder.write('line.json', `\ufeff${text}`)
    for (const given of [text, '-', '@-', `@${folder.at('line.json')}`])
      expect(await runCli(['verify', '--delivery', given], { stdin: text })).toEqual(right)
  })

  it.each<[string, unknown, string]>([
    [
      'a body that was written again',
      { headers, body: JSON.stringify(JSON.parse(BODY)) },
      'parsed and serialized again',
    ],
    ['no signature', { headers: { accept: '*/*' }, body: BODY }, 'The header is empty'],
    ['two signatures', { headers: { 'x-service-signature': [signature, signature] }, body: BODY }, 'not made of hexa'],
  ])('explains %s', async (_what, delivery, text) => {
    expect(await runCli(['verify', '--delivery', JSON.stringify(delivery)])).toEqual(ended(1, text))
  })

  it.each<[string, readonly string[], string]>([
    [
      'no JSON',
      ['--delivery', 'line.json'],
      'needs one JSON object, on one line or several. If that is a file, write @line.json.',
    ],
    ['a parsed body', ['--delivery', JSON.stringify({ headers, body: {} })], 'not what a parser made of it'],
    ['a body that is not base64', ['--delivery', JSON.stringify({ headers, bodyBase64: '!!!' })], 'base64 as'],
    ['headers that are none', ['--delivery', '{"headers":7,"body":""}'], '"headers", an object'],
    ['a signature that is none', ['--delivery', '{"signature":7,"body":""}'], '"signature", text'],
    ['a header beside it', ['--delivery', '{}', '--header', signature], 'Give --header and the body, or --delivery'],
    ['a body beside it', ['body.bin', '--delivery', '{}'], 'Give --header and the body, or --delivery'],
    ['standard input twice', ['--delivery', '@-', '--secret-stdin'], 'name the file'],
    [
      'another header',
      ['--header', 'X-Hub-Signature-256: sha256=00'],
      'stands in X-Service-Signature. If it stands in that one, add --signature-header X-Hub-Signature-256.',
    ],
    ['another header with =', ['--header', 'X-Hub=sha256=00'], '--header is the header X-Hub, and the signature'],
  ])('refuses %s', async (_what, args, text) => {
    expect(await runCli(['verify', ...args], { stdin: SECRET })).toEqual(ended(2, text))
  })
})
