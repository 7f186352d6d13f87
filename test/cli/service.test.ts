import { writeFile } from 'node:fs/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { PASSWORD, type Reply, startService } from '../client/support.ts'
import { findFreePort } from '../support/programs.ts'
import { useFolder } from './folder.ts'
import { ended, readLines, runCli } from './run-cli.ts'
import { ADA, APP, serve, serveHandMade } from './serve.ts'

const folder = useFolder()

describe('the service', () => {
  it('is not guessed if there are credentials', async () => {
    const advice = 'Give --base-url URL, or set POSTERN_BASE_URL'
    expect(await runCli('webhooks list', { env: ADA })).toEqual(ended(2, advice))
  })

  it.each([
    ['http elsewhere', { POSTERN_BASE_URL: 'http://crm.example.com' }, '--allow-http'],
    ['no URL', { POSTERN_BASE_URL: 'crm' }, 'postern: POSTERN_BASE_URL is not a URL of a service'],
    ['a password in what is no URL', { POSTERN_BASE_URL: 'ada:hunter2@crm.example.com' }, 'not a URL of a service'],
    ['a password in the URL', { POSTERN_BASE_URL: 'https://ada:hunter2@crm.example.com' }, 'has credentials in it'],
    ['no address', { POSTERN_EMAIL: '' }, 'POSTERN_EMAIL is not set. Set it'],
    ['no password', { POSTERN_PASSWORD: '' }, 'POSTERN_PASSWORD is not set'],
  ])('is refused: %s', async (_what, env, words) => {
    const wrong = { ...ADA, POSTERN_BASE_URL: 'https://crm.example.com', ...env }
    const result = await runCli('webhooks list', { env: wrong })
    expect(result).toEqual(ended(2, words))
    expect(result.stderr).not.toContain('hunter2')
  })

  it.each(['21', '-1', '1.5', '1x', 'x1', ''])('is not asked %j times again', async (retries) => {
    const advice = 'It must be a whole number from 0 to 20.'
    expect(await runCli(`webhooks list --retries=${retries}`, { env: ADA })).toEqual(ended(2, advice))
  })

  it('reaches the terminal by no text of its own, and programs get it whole', async () => {
    const id = 'w\u009b31m\u202e\u2028\u007f\u001b[2J'
    const { run } = await serveHandMade({ body: [{ _id: id, active: true }] })
    const { code, stdout } = await run('webhooks', 'list', '--json')
    expect(stdout).toMatch(/^[ -~]+\n$/)
    expect([code, ...readLines(stdout)]).toEqual([0, { id, active: true }])
    const { stdout: shown } = await run('webhooks', 'list')
    expect(shown).toContain('w?31m????[2J')
  })

  it('is named in the commands that a command advises', async () => {
    const { crm } = await serve()
    const file = folder.at("its owner's.env")
    await writeFile(file, `MAIL=${ADA.POSTERN_EMAIL}\nPOSTERN_PASSWORD=${ADA.POSTERN_PASSWORD}\n`)
    const named = ['--base-url', crm.url, '--email-env', 'MAIL', '--env', file, '--allow-http']
    const wanted = ['--url', 'http://127.0.0.1:9/', '--events', 'contact.created', '--inactive']
    const { code, stderr } = await runCli(['webhooks', 'create', ...wanted, ...named], { env: {} })
    const [webhook] = crm.webhooks.list()
    const quoted = `'${folder.path}/its owner'\\''s.env'`
    const options = `--base-url ${crm.url} --email-env MAIL --env ${quoted} --allow-http`
    expect(code).toBe(0)
    expect(stderr).toContain(`then: npx postern webhooks resume ${webhook?.id} ${options}\n`)
  })

  it('is named with the env file that lacks a variable', async () => {
    const file = folder.at('.env.half')
    const lacking = { POSTERN_EMAIL: '', POSTERN_PASSWORD: 'POSTERN_EMAIL=ada@acme.test\n' }
    for (const [name, text] of Object.entries(lacking)) {
      await folder.write('.env.half', text)
      const missing = await runCli(`webhooks list --base-url https://a.test --env ${file}`)
      expect(missing).toEqual(ended(2, `${name} is not set in ${file}. Set it`))
    }
    const other = await runCli(`webhooks list --base-url ftp://a.test --env ${file}`)
    expect(other).toEqual(ended(2, '--base-url ftp://a.test is not a URL of a service'))
  })

  it('is not that of the environment, nor an emulator, if the env file is missing', async () => {
    const { env } = await serve()
    const missing = folder.at('.env.misspelt')
    for (const command of ['webhooks list', 'trigger contact.created'])
      expect(await runCli(`${command} --env ${missing}`, { env })).toEqual(
        ended(2, `postern: ${missing} cannot be read: ENOENT: no such file or directory, open '${missing}'\n`),
      )
  })

  it.each(['--password-env', '--email-env'])('does not repeat a secret that was passed to %s', async (option) => {
    const { env } = await serve()
    const { code, stdout, stderr } = await runCli(['webhooks', 'list', option, 'hunter-2!', '--json'], { env })
    expect([code, stdout + stderr]).toEqual([2, expect.stringContaining('the name of a variable')])
    expect(stdout + stderr).not.toContain('hunter')
  })

  it('reads credentials from other variables, files and standard input', async () => {
    const { crm } = await serve()
    const file = folder.at('password')
    const envFile = folder.at('.env.crm')
    await writeFile(file, 'password\n')
    await writeFile(envFile, `POSTERN_BASE_URL=${crm.url}\nPOSTERN_EMAIL=ada@acme.test\nPOSTERN_PASSWORD="password"\n`)
    const there = `webhooks list --base-url ${crm.url}`
    const env = { POSTERN_EMAIL: 'ada@acme.test' }
    const results = [
      await runCli(`${there} --email-env MAIL --password-env PASS`, {
        env: { MAIL: 'ada@acme.test', PASS: 'password' },
      }),
      await runCli(`${there} --password-file ${file}`, { env }),
      await runCli(`${there} --password-stdin`, { env, stdin: 'password\n' }),
      await runCli(`webhooks list --env ${envFile}`, { env: {} }),
    ]
    for (const result of results) expect(result).toEqual(ended(0, /^the account has no webhook\n$/))
    const both = await runCli(`${there} --password-stdin --password-file ${file}`, { env })
    expect(both).toEqual(ended(2, 'postern: Give --password-file or --password-stdin, not both.\n'))
  })

  it('refuses the login: 4, and prints the password nowhere', async () => {
    const { crm } = await serve()
    const env = { ...ADA, POSTERN_PASSWORD: 'hunter2', POSTERN_BASE_URL: crm.url }
    const refused = await runCli('webhooks list', { env })
    expect(refused).toEqual(ended(4, 'refuses the e-mail address and password'))
    expect(refused.stderr).not.toContain('hunter2')
  })

  it('is not reachable: 3', async () => {
    const env = { ...ADA, POSTERN_BASE_URL: `http://127.0.0.1:${await findFreePort()}` }
    const { code, stdout, stderr } = await runCli(['webhooks', 'list', '--retries', '0', '--json'], { env })
    expect([code, stderr]).toEqual([3, expect.stringContaining('no answer')])
    const { error } = JSON.parse(stdout)
    expect(error).toMatchObject({ code: 'service_unreachable', fix: expect.stringContaining('npx postern emulator') })
    expect(stderr).toContain(error.fix)
  })

  it.each<[string, Reply, number]>([
    ['HTML', { body: '<html>', headers: { 'content-type': 'text/html' } }, 1],
    ['nothing', { status: 204 }, 1],
    ['other types', { body: { webhooks: [1, null, 'x'] } }, 1],
    ['a redirect', { status: 302, headers: { location: 'https://evil.example/?token=token-1' } }, 3],
    ['a cut connection', (response) => response.socket?.destroy(), 3],
    ['a token that it refuses', { status: 401 }, 4],
    ['too many requests', { status: 429, headers: { 'retry-after': '0' } }, 5],
  ])('answers with %s', async (_what, answer, code) => {
    const { run } = await serveHandMade(answer)
    for (const line of ['webhooks list', 'deliveries list w1', 'replay --webhook w1']) {
      const result = await run(...line.split(' '))
      expect(result).toEqual(ended(code, /^postern: [^\n]+\n$/m))
      expect(result.stderr).not.toMatch(/token-1|4711/)
    }
  })

  it.each<[number, string, RegExp]>([
    [503, '1', /^waiting [1-9]\d*(\.\d)? s after a failure\nthe account has no webhook\n$/],
    [429, '0', /^the account has no webhook\n$/],
  ])('reports a long wait: after %d, for %s s', async (status, seconds, told) => {
    const busy = { status, headers: { 'retry-after': seconds } }
    const service = await startService((_request, count) => (count === 1 ? busy : { body: [] }))
    onTestFinished(() => service.close())
    const env = { ...ADA, POSTERN_PASSWORD: PASSWORD, POSTERN_BASE_URL: service.url }
    const { code, stderr } = await runCli(['webhooks', 'list'], { env })
    expect([code, stderr]).toEqual([0, expect.stringMatching(told)])
  })

  it('cannot reach a line for the shell', async () => {
    const { run } = await serveHandMade({ body: { _id: 'w1; rm -rf .', secret: 'whsec_1' } })
    const { stderr } = await run(...`webhooks create --url ${APP} --events sync.failed --inactive`.split(' '))
    expect(stderr).toContain("npx postern webhooks resume 'w1; rm -rf .'\n")
  })
})
