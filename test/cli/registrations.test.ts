import { mkdir, readdir, stat } from 'node:fs/promises'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { useFolder } from './folder.ts'
import { ended, readLines } from './run-cli.ts'
import { APP, serve } from './serve.ts'

const folder = useFolder()
let place: readonly string[]
let secretFile: string
beforeEach(() => {
  secretFile = folder.at('crm.secret')
  place = ['--secret-file', secretFile]
})

describe('postern webhooks ensure', () => {
  const ensure = ['webhooks', 'ensure', '--url', APP, '--events', 'contact.*']

  it('registers once, saves the secret with the id, and corrects the events', async () => {
    const { crm, run } = await serve()
    const first = await run(...ensure, ...place, '--json')
    expect(first.code).toBe(0)
    const [webhook] = crm.webhooks.list()
    expect(webhook).toMatchObject({ url: APP, active: true, events: expect.arrayContaining(['contact.deleted']) })
    expect(await folder.read('crm.secret')).toBe(`${webhook?.secret}\n`)
    expect(await folder.read('crm.secret.webhook')).toBe(`${webhook?.id}\n`)
    expect((await stat(secretFile)).mode & 0o777).toBe(0o600)
    expect(readLines(first.stdout)).toMatchObject([{ id: webhook?.id, active: true, isNew: true, deleted: [] }])
    expect(first.stdout + first.stderr).not.toContain(webhook?.secret)
    const second = await run(`webhooks ensure --url ${APP} --events sync.failed --secret-file ${secretFile}`)
    const told = `webhook ${webhook?.id} was there, and is active; its secret is in ${secretFile}\n`
    expect(second).toEqual(ended(0, told))
    expect(crm.webhooks.list()).toMatchObject([{ id: webhook?.id, events: ['sync.failed'] }])
  })

  it('names an active webhook whose URL is another spelling of the same place', async () => {
    const { run, create } = await serve()
    const other = create({ url: `${APP}/` })
    create({ url: `${APP}/other` })
    const { code, stderr } = await run(...ensure, ...place)
    expect(code).toBe(0)
    expect(stderr).toContain(`webhook ${other.id} is active too, and delivers to ${APP}/: are both meant?\n`)
    expect(stderr.match(/are both meant/g)).toHaveLength(1)
  })

  it('saves both in an env file, and keeps its other lines', async () => {
    const { crm, run } = await serve()
    await folder.write('.env', 'A=1\nCRM_SECRET=\nB=2')
    const place = ['--to-env', folder.at('.env'), '--secret-env', 'CRM_SECRET']
    expect((await run(...ensure, ...place)).code).toBe(0)
    const [webhook] = crm.webhooks.list()
    expect(await folder.read('.env')).toBe(
      `A=1\nCRM_SECRET=${webhook?.secret}\nB=2\nCRM_SECRET_WEBHOOK_ID=${webhook?.id}\n`,
    )
    expect((await run(...ensure, ...place)).stderr).toContain(`webhook ${webhook?.id} was there`)
    expect(crm.webhooks.list()).toHaveLength(1)
  })

  it('refuses an active webhook whose secret is lost, unless it is to be replaced', async () => {
    const { crm, run, create } = await serve()
    const { id } = create()
    const refused = await run(...ensure, ...place, '--json')
    expect(refused.code).toBe(1)
    expect(readLines(refused.stdout)).toMatchObject([{ error: { fix: expect.stringContaining('--replace-active') } }])
    expect(crm.webhooks.list()).toMatchObject([{ id }])
    expect((await run(...ensure, ...place, '--replace-active')).code).toBe(0)
    expect(crm.webhooks.list().map((webhook) => webhook.id)).not.toContain(id)
  })

  it('leaves no webhook behind if the secret cannot be written', async () => {
    const { crm, run } = await serve()
    await mkdir(folder.at('crm.secret.webhook'))
    const failure = /crm\.secret cannot be written: EISDIR.*crm\.secret\..*deleted again/
    expect(await run(...ensure, ...place)).toEqual(ended(1, failure))
    expect(crm.webhooks.list()).toEqual([])
    expect(await readdir(folder.path)).toEqual(['crm.secret.webhook'])
  })

  it('ends with one webhook and its secret, if five run at the same time', async () => {
    const { crm, run } = await serve()
    const all = await Promise.all(Array.from({ length: 5 }, () => run(...ensure, ...place)))
    expect(all.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0])
    const [webhook, ...more] = crm.webhooks.list()
    expect(more).toEqual([])
    expect(webhook?.active).toBe(true)
    expect(await folder.read('crm.secret')).toBe(`${webhook?.secret}\n`)
    expect(await folder.read('crm.secret.webhook')).toBe(`${webhook?.id}\n`)
    expect((await readdir(folder.path)).toSorted()).toEqual(['crm.secret', 'crm.secret.webhook'])
  })

  it('needs no writable folder if the secret is there', async () => {
    const { run } = await serve()
    await run(...ensure, ...place)
    // A lock of a live process stands for such a folder: tests may run as root.
    await folder.write('crm.secret.lock', '')
    const beat = setInterval(() => folder.write('crm.secret.lock', ''), 100)
    onTestFinished(() => clearInterval(beat))
    expect(await run(...ensure, ...place)).toEqual(ended(0, /^webhook \w+ was there, and is active/))
  })

  it('does not overwrite the secret of another webhook', async () => {
    const { crm, run } = await serve()
    await run(...ensure, ...place)
    const secret = await folder.read('crm.secret')
    for (const { id } of crm.webhooks.list()) crm.webhooks.delete(id)
    expect(await run(...ensure, ...place)).toEqual(ended(1, 'holds the secret of another webhook'))
    expect(await folder.read('crm.secret')).toBe(secret)
    expect(crm.webhooks.list()).toEqual([])
  })

  const TAKEN = 'holds a secret already, and is not overwritten. Name another place.\n'
  it.each([
    ['no place', [], /^postern: Give --secret-file or --to-env: the secret is shown only once\.\n$/],
    ['two places', ['--secret-file', 'FOLDER/x', '--to-env', 'FOLDER/y'], 'Give --secret-file or --to-env:'],
    ['a file with a secret of no known webhook', ['--secret-file', 'FOLDER/mine'], `/mine ${TAKEN}`],
    ['an env file with such a secret', ['--to-env', 'FOLDER/.env'], `postern: WEBHOOK_SECRET in FOLDER/.env ${TAKEN}`],
    ['a secret in place of a name', ['--to-env', 'FOLDER/y', '--secret-env', 'whsec_a-b'], 'the name of a variable'],
  ])('refuses %s', async (_what, args, words) => {
    const { crm, run } = await serve()
    await folder.write('mine', 'whsec_mine\n')
    await folder.write('.env', 'WEBHOOK_SECRET=mine\n')
    const refused = await run(...ensure, ...args.map((arg) => arg.replace('FOLDER', folder.path)))
    expect(refused).toEqual(ended(2, typeof words === 'string' ? words.replace('FOLDER', folder.path) : words))
    expect(crm.webhooks.list()).toEqual([])
    expect(await folder.read('mine')).toBe('whsec_mine\n')
    expect(await readdir(folder.path)).not.toContain('mine.lock')
  })

  it('describes a new webhook by --description, and tells people the place of its secret', async () => {
    const { crm, run } = await serve()
    const ensured = await run(...ensure, ...place, '--description', 'the app of Ada')
    const [webhook] = crm.webhooks.list()
    expect(webhook?.description).toContain('the app of Ada')
    const told = `webhook ${webhook?.id} is registered and active; its secret is in ${secretFile}\n`
    expect(ensured).toEqual(ended(0, told))
  })

  it('takes types that the service does not name only with --any-type', async () => {
    const { crm, run } = await serve()
    const line = `webhooks ensure --url ${APP} --events moon.risen --secret-file ${secretFile}`
    expect((await run(line)).code).toBe(2)
    expect((await run(`${line} --any-type`)).code).toBe(0)
    expect(crm.webhooks.list()).toMatchObject([{ events: ['moon.risen'] }])
  })

  it('prints for programs what the service says of the webhook, which webhooks were deleted, and the place of the secret', async () => {
    const { crm, run, create } = await serve()
    const lost = create()
    const { stdout } = await run(...ensure, ...place, '--replace-active', '--json')
    const [webhook] = crm.webhooks.list()
    expect(readLines(stdout)).toEqual([
      {
        id: webhook?.id,
        url: APP,
        events: webhook?.events,
        active: true,
        description: expect.any(String),
        createdAt: expect.any(String),
        isNew: true,
        deleted: [lost.id],
        secretIn: secretFile,
      },
    ])
  })
})
