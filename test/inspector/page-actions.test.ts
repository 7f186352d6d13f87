import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { createReceiver } from 'postern'
import type { Emulator } from 'postern/emulator'
import { nodeHandler } from 'postern/node'
import { silentLogger } from 'postern/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { toCurl } from '../../tools/emulator/inspector/copies.ts'
import { makeTestFolder } from '../support/test-folder.ts'
import {
  answer,
  beginEach,
  CHROMIUM,
  context,
  leave,
  open,
  reading,
  rowsOf,
  serve,
  start,
  startWith,
} from './support.ts'

// User actions on the page, and attacks of strangers, in a real browser.

const run = promisify(execFile)
/** Text that would do harm if it became markup, a script, or a part of a command. */
const HOSTILE = `"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'; touch hacked; echo '\`touch hacked\`$(touch hacked)`

describe.skipIf(CHROMIUM === undefined)('the inspector, used in Chromium', () => {
  beginEach()

  /** Returns the text that a button of the open delivery's menu copies. */
  async function copy(page: Page, name: string): Promise<string> {
    await page.locator('.toast').waitFor({ state: 'hidden' })
    const button = page.getByRole('button', { name: `Copy ${name}` })
    if (!(await button.isVisible())) await page.getByText('More').click()
    await button.click()
    await page.locator('.toast').getByText('copied').waitFor()
    return String(await page.evaluate('navigator.clipboard.readText()'))
  }

  it('keeps hostile text as text everywhere, and in copied commands', async () => {
    const crm = await start({ clock: 'manual', assume: { unknownTypes: 'accepted' } })
    const received: { readonly body: Buffer; readonly signature: unknown }[] = []
    const receiver = reading((body, request, response) => {
      received.push({ body, signature: request.headers['x-service-signature'] })
      response.writeHead(500, { 'content-type': 'text/html', 'x-hostile': HOSTILE }).end(HOSTILE)
    })
    const url = await serve(receiver)
    const { id } = crm.webhooks.create({ url: `${url}/a'b"<i>`, events: ['contact.created'], description: HOSTILE })
    crm.events.emit({ type: 'contact.created', id: HOSTILE, data: { record: { _id: HOSTILE, [HOSTILE]: HOSTILE } } })
    await crm.clock.advance('31s')
    const [delivery] = crm.deliveries.list({ webhookId: id })
    const { page, complaints } = await open(crm, `?d=${delivery?.id}`)
    await page.locator('.detail pre').getByText('onerror').first().waitFor()
    await page.getByRole('button', { name: 'Exact', exact: true }).click()
    for (const summary of await page.locator('.headers summary').all()) await summary.click()
    const command = await copy(page, 'curl command')
    const test = await copy(page, 'vitest test')
    await page.keyboard.press('e')
    await page.locator('dialog textarea').waitFor()
    await page.keyboard.press('Escape')
    for (const view of ['screen=webhooks', 'by=cause']) {
      await page.goto(`${crm.url}/_inspector?${view}&q=${encodeURIComponent(HOSTILE)}`)
      await page.locator('#link.live').waitFor()
    }
    expect(await page.evaluate('[typeof window.hacked, document.querySelectorAll("img, i").length]')).toEqual([
      'undefined',
      0,
    ])
    expect(complaints).toEqual([])
    const folder = makeTestFolder()
    const count = received.length
    await run('sh', ['-c', command], { cwd: folder })
    expect(received).toHaveLength(count + 1)
    expect(received.at(-1)).toEqual(received[0])
    await writeFile(join(folder, 'test.txt'), test)
    expect((await run('ls', [folder])).stdout).toBe('test.txt\n')
    // Only one call of `test` would run, whatever the texts are.
    expect(test.split('\n').filter((line) => line.includes('hacked'))).toHaveLength(3)
  })

  it('copies a test that passes when it is pasted, and one that proves a refusal', async () => {
    const crm = await start({ signatureHeader: 'X-Crm-Signature' })
    await startReceiver(crm, ['contact.created'], 'X-Crm-Signature')
    crm.events.emit({ type: 'contact.created', data: { record: { _id: '1', firstName: "Zoë O'Neil \\ \u2028" } } })
    const { page } = await open(crm)
    await page.locator('tr.row').first().click()
    await page.locator('.verdict').getByText('200 handled').waitFor()
    const right = await copy(page, 'vitest test')
    expect(right).toContain("createReceiver({ secret, signatureHeader: 'X-Crm-Signature' })")
    expect(await copy(page, 'curl command')).toContain(" -H 'X-Crm-Signature: sha256=")
    expect(await page.locator('.headers').allTextContents()).toContainEqual(expect.stringContaining('X-Crm-Signature'))
    await page.getByRole('button', { name: 'Copy the body' }).click()
    await page.locator('.toast').getByText('body copied').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toContain("Zoë O'Neil")
    await page.keyboard.press('e')
    await page.locator('dialog select').selectOption('flip-bit')
    await page.keyboard.press('Control+Enter')
    await page.locator('.verdict').getByText('401 unauthorized').waitFor()
    expect(await page.locator('.verdict').innerText()).toContain('wrong on purpose, and was refused')
    const wrong = await copy(page, 'vitest test')
    const made = crm.deliveries.resend(crm.deliveries.list()[0]?.id ?? '', { body: '{"id":"evt_1","data":[]}' })
    await page.goto(`${crm.url}/_inspector?d=${made.id}`)
    await page.locator('.verdict').getByText('400 invalid_envelope').waitFor()
    const noEvent = await copy(page, 'vitest test')
    const bare =
      '{"id":"evt_2","type":"contact.created","timestamp":"2025-01-01T00:00:00Z","accountKey":"acme","data":{}}'
    await page.goto(`${crm.url}/_inspector?d=${crm.deliveries.resend(made.id, { body: bare }).id}`)
    await page.locator('.verdict').getByText('422 invalid_record').waitFor()
    const noRecord = await copy(page, 'vitest test')
    // In the repository, so that they find the package; the runner only accepts files of test/.
    const folder = await mkdtemp('test/inspector/.pasted-')
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    await writeFile(join(folder, 'right.test.ts'), right)
    await writeFile(join(folder, 'wrong.test.ts'), wrong)
    await writeFile(join(folder, 'no-event.test.ts'), noEvent)
    await writeFile(join(folder, 'no-record.test.ts'), noRecord)
    const { stdout } = await run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--reporter=json', folder])
    expect(JSON.parse(stdout.slice(stdout.indexOf('{"')).split('\n')[0] ?? '')).toMatchObject({
      numPassedTests: 4,
      numFailedTests: 0,
    })
  })

  it('shows the digests of the usual mistakes', async () => {
    const crm = await start()
    await startReceiver(crm, ['contact.created'])
    crm.events.emit({ type: 'contact.created' })
    const { page } = await open(crm)
    await page.locator('tr.row').first().click()
    const [delivery] = crm.deliveries.list()
    const secret = crm.webhooks.list()[0]?.secret ?? ''
    const digestOf = (body: string | Uint8Array) => createHmac('sha256', secret).update(body).digest('hex')
    const body = Buffer.from(delivery?.bytes ?? [])
    await page.getByText('The header matches the body').click()
    await page.locator('.steps').getByText(digestOf(body)).first().waitFor()
    await page.getByText('Digests that the usual mistakes compute').click()
    const mistake = page
      .locator('.facts > div')
      .filter({ hasText: 'The JSON is parsed and serialized again before it is signed' })
    await mistake.getByText(digestOf(JSON.stringify(JSON.parse(body.toString())))).waitFor()
    expect(await page.content()).not.toContain(secret)
  })

  it('shows a secret on request, pauses, resumes and deletes', async () => {
    const crm = await start({ clock: 'manual' })
    const { id, secret } = crm.webhooks.create({ url: 'http://127.0.0.1:9/hooks', events: ['contact.created'] })
    const { page, complaints } = await open(crm, '?screen=webhooks')
    expect(await page.content()).not.toContain(secret)
    await page.getByRole('button', { name: 'Secret' }).click()
    await expect.poll(() => page.locator('dialog textarea').inputValue()).toBe(secret)
    await leave(page)
    await page.getByRole('button', { name: 'Pause…' }).click()
    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await page.locator('tbody').getByText('paused').waitFor()
    expect(crm.webhooks.get(id).active).toBe(false)
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.locator('tbody').getByText('healthy').waitFor()
    await page.getByRole('button', { name: 'New webhook' }).click()
    await page.getByLabel('URL').fill('http://127.0.0.1:9/second')
    await leave(page) // by mistake
    await page.getByRole('button', { name: 'New webhook' }).click()
    expect(await page.getByLabel('URL').inputValue()).toBe('http://127.0.0.1:9/second')
    await page.getByRole('button', { name: 'Register' }).click()
    await page.getByText('http://127.0.0.1:9/second').waitFor()
    await page.getByRole('button', { name: 'Delete…' }).first().click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await expect.poll(() => crm.webhooks.list().map(({ url }) => url)).toEqual(['http://127.0.0.1:9/second'])
    expect(complaints).toEqual([])
  })

  it('tries failures again together', async () => {
    let status = 500
    const receiver: RequestListener = (request, response) =>
      answer(status, status === 200 ? 'handled' : 'handler_failed')(request, response)
    const crm = await startWith(['sync.failed'], receiver, { clock: 'manual', retryScale: 60_000 })
    crm.events.emitMany({ type: 'sync.failed' }, 12)
    await crm.clock.advance('1m')
    status = 200
    crm.events.emit({ type: 'sync.failed' })
    await crm.clock.advance(0)
    const { page } = await open(crm, '?q=status:failed&by=cause')
    // On a busy machine the clock may have passed the deadline of some: those are a second cause.
    await page
      .getByText(/^Try again \d+…$/)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Try all 12 again…' }).click()
    await page.getByRole('dialog').getByLabel('Per second').fill('500')
    await page.getByRole('button', { name: 'Try again 12', exact: true }).click()
    await page.getByText('12 of 12').waitFor()
    await page.getByRole('button', { name: 'Close', exact: true }).click()
    await page.locator('dialog').waitFor({ state: 'detached' })
    await crm.clock.advance(0)
    await page.getByText('Nothing has failed').waitFor()
    for (const key of ['g', 'f']) await page.keyboard.press(key)
    await expect.poll(() => rowsOf(page).getByText('handled', { exact: true }).count()).toBe(13)
    expect(await page.getByRole('button', { name: /^Try/ }).count()).toBe(0)
  })

  it('sends recorded bodies, moves a manual clock, and shows calls and faults', async () => {
    const crm = await start({ clock: 'manual' })
    const bodies = await startReceiver(crm, ['sync.failed'])
    const { page, complaints } = await open(crm)
    const recorded =
      '{"type":"sync.failed",\t"id":"evt_old","timestamp":"2025-01-01T00:00:00Z","accountKey":"theirs","data":{"n":1.50e2}}\n'
    await page.keyboard.press('t')
    await page.getByRole('button', { name: 'A recorded body' }).click()
    await page.getByRole('dialog').locator('textarea').fill(recorded)
    await page.keyboard.press('Control+Enter')
    await page.locator('.verdict').waitFor()
    expect(bodies.at(-1)).toBe(recorded)
    await page.keyboard.press('2')
    await page.getByText("Your client's calls").waitFor()
    await page.getByText('emulator --assumptions').waitFor()
    await page.getByRole('button', { name: 'Clock: manual' }).click()
    const before = crm.clock.now()
    await page.getByLabel('Advance by').fill('5m')
    await page.keyboard.press('Enter')
    await expect.poll(() => crm.clock.now() - before).toBe(300_000)
    await page.locator('dialog p').getByText('No attempt is planned').waitFor()
    crm.webhooks.create({ url: 'http://localhost:9/', events: ['sync.failed'] })
    crm.events.emit({ type: 'sync.failed' })
    await page.locator('dialog p').getByText('Next attempt').waitFor()
    await leave(page)
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"answer":"429","count":3}' }
    await fetch(`${crm.url}/_emulator/faults`, init)
    await page.getByRole('button', { name: 'Faults: as usual' }).click()
    await page.locator('.chip').getByText('faults: 3 × 429').waitFor()
    expect(complaints).toEqual([])
  })

  it('lets a page of another origin neither read nor change anything', async () => {
    const crm = await startWith(['sync.failed'])
    crm.events.emit({ type: 'sync.failed' })
    const stranger = await serve((_request, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello'),
    )
    const page = await context.newPage()
    const served: string[] = []
    page.on('response', (response) => {
      if (response.url().startsWith(crm.url) && response.status() < 400) served.push(response.url())
    })
    await page.goto(stranger)
    const attempts = await page.evaluate(`(async () => {
      const base = ${JSON.stringify(`${crm.url}/_emulator/`)}
      const told = []
      const body = JSON.stringify({ type: 'sync.failed' })
      const tries = [
        () => fetch(base + 'state'),
        () => fetch(base + 'state', { mode: 'no-cors' }).then((r) => { if (r.type !== 'opaque') throw 0; return r.text() }).then((t) => { if (t === '') throw 0 }),
        () => fetch(base + 'events', { method: 'POST', headers: { 'content-type': 'application/json' }, body }),
        () => fetch(base + 'events', { method: 'POST', headers: { 'content-type': 'text/plain' }, body, mode: 'no-cors' }).then(() => { throw 0 }),
        () => fetch(base + 'reset', { method: 'POST', body: '{}', mode: 'no-cors' }).then(() => { throw 0 }),
        () => new Promise((resolve, reject) => { const s = new EventSource(base + 'stream'); s.onmessage = s.onopen = resolve; s.onerror = reject }),
        () => new Promise((resolve, reject) => { const i = new Image(); i.onload = resolve; i.onerror = reject; i.src = base + 'stream' }),
        () => new Promise((resolve, reject) => { const s = document.createElement('script'); s.onload = resolve; s.onerror = reject; s.src = base + 'state'; document.head.append(s) }),
        () => new Promise((resolve, reject) => { const f = document.createElement('iframe'); f.src = base.replace('_emulator/', '_inspector'); f.onload = () => { try { f.contentDocument.body.textContent ? resolve() : reject() } catch { reject() } }; document.body.append(f) }),
      ]
      for (const attempt of tries) told.push(await attempt().then(() => 'succeeded', () => 'refused'))
      const form = document.createElement('form')
      form.method = 'post'; form.enctype = 'text/plain'; form.action = base + 'events'
      form.innerHTML = '<input name=\\'{"type":"sync.failed","a":"\\' value=\\'"}\\'>'
      document.body.append(form)
      form.submit()
      return told
    })()`)
    expect(attempts).toEqual(Array(9).fill('refused'))
    await page.waitForTimeout(200)
    expect(served.filter((url) => !url.endsWith('/_inspector'))).toEqual([])
    expect(crm.deliveries.list()).toHaveLength(1)
  })
})

it.each([
  ['plain', '{"a": 1}'],
  ['quotes and substitutions', `{"a":"'; echo '$(id)\`id\`\\\\"}`],
  ['a file of curl', '@/etc/passwd'],
  ['an option', '--config /etc/passwd'],
  ['lines', 'a\nb\r\n\tc\n'],
  ['escapes of a terminal', '\u001b[2J\u0007 \u202e'],
  ['nothing', ''],
  ['more than an argument takes', 'x'.repeat(200_000)],
  ['no UTF-8', Buffer.from([0xff, 0xfe, 0x00, 0x41])],
])('a copied curl command sends the body unchanged: %s', async (_what, body) => {
  const received: { readonly body: Buffer; readonly signature: unknown; readonly url: unknown }[] = []
  const receiver = reading((body, { headersDistinct, url }, response) => {
    received.push({ body, signature: headersDistinct['x-crm-signature'], url })
    response.end()
  })
  const base = await serve(receiver)
  const bytes = Buffer.from(body)
  const command = toCurl({
    url: `${base}/a?b={c,d}&e=[1-3]&f=$(id)`,
    eventId: 'evt_1',
    eventType: 'contact.created',
    signatureHeader: 'X-Crm-Signature',
    sent: ['sha256=aa', 'sha256=bb'],
    isRight: true,
    answer: 200,
    body: { text: bytes.toString(), base64: bytes.toString('base64') },
  })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those that a terminal would obey
  expect(command).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f\u202e]/)
  const shell = run('sh')
  shell.child.stdin?.end(command)
  await shell
  expect(received).toEqual([{ body: bytes, signature: ['sha256=aa', 'sha256=bb'], url: '/a?b={c,d}&e=[1-3]&f=$(id)' }])
})

/** Starts a receiver of this package with its webhook. Returns the bodies that it gets. */
async function startReceiver(
  crm: Emulator,
  types: readonly string[],
  signatureHeader?: string,
): Promise<readonly string[]> {
  let secret = 'unknown'
  const bodies: string[] = []
  const handler = nodeHandler(
    createReceiver({ secret: () => secret, signatureHeader, logger: silentLogger }).on('*', () => {}),
  )
  const url = await serve((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part) => parts.push(part))
    request.on('end', () => bodies.push(Buffer.concat(parts).toString()))
    handler(request, response)
  })
  secret = crm.webhooks.create({ url: `${url}/hooks`, events: types }).secret
  return bodies
}
