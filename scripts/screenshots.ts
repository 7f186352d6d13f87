/**
 * Photographs every screen of the inspector, in both themes and at 1,440, 1,024 and 390 px, into `.screenshots`: `npx tsx scripts/screenshots.ts`, or
 * those named after it. With `--docs` it updates the small pictures of the documents instead.
 */
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { nodeHandler } from '../adapters/http/node.ts'
import { openSqlite, sqliteInbox } from '../adapters/stores/sqlite.ts'
import { createReceiver, DeadLetter, type Inbox, sign } from '../src/index.ts'
import { type Emulator, startEmulator } from '../tools/emulator/emulator.ts'
import { createEvents } from '../tools/testing/events.ts'
import { silentLogger } from '../tools/testing/silent-logger.ts'

const FOLDER = new URL('../.screenshots/', import.meta.url).pathname
const DOCS = new URL('../docs/guides/', import.meta.url).pathname

/** Starts an emulator with a typical history. */
async function stage(): Promise<{ readonly crm: Emulator; readonly close: () => Promise<void> }> {
  const { inbox, close: closeInbox } = await fillInbox()
  const crm = await startEmulator({ clock: 'manual', seed: 'screenshots', logger: silentLogger, inbox })
  let secret = ''
  let failures = 2
  const receiver = createReceiver({ secret: () => secret, logger: silentLogger })
  receiver.on('finance.payment.failed', () => {
    if (failures-- > 0) throw new Error('the database is away')
  })
  receiver.on('contact.created', () => {})
  receiver.on('contact.updated', () => {})
  const server = createServer(nodeHandler(receiver)).listen(0, '127.0.0.1')
  const forbidding = createServer((_request, response) =>
    response.writeHead(401, { 'content-type': 'application/json' }).end('{"code":"unauthorized"}'),
  ).listen(0, '127.0.0.1')
  await Promise.all([once(server, 'listening'), once(forbidding, 'listening')])
  const portOf = (of: typeof server) => Object(of.address()).port
  const types = ['contact.created', 'contact.updated', 'contact.deleted', 'finance.payment.failed', 'sync.completed']
  const webhook = crm.webhooks.create({ url: `http://127.0.0.1:${portOf(server)}/webhooks`, events: types })
  secret = webhook.secret
  const url = `http://127.0.0.1:${portOf(forbidding)}/hooks/crm`
  crm.webhooks.create({ url, events: ['sync.failed', 'contact.deleted'], description: 'the old receiver' })
  crm.webhooks.create({ url: 'http://127.0.0.1:9/webhooks', events: ['export.completed'] }, { accountKey: 'globex' })
  await act(crm)
  const close = async () => {
    await crm.close()
    await closeInbox()
    for (const each of [server, forbidding]) each.close()
  }
  return { crm, close }
}

async function act(crm: Emulator): Promise<void> {
  crm.events.emit({ type: 'sync.failed' })
  crm.events.emit({ type: 'export.completed' }, { accountKey: 'globex' })
  await crm.clock.advance('2h40m')
  for (const [firstName, email] of [
    ['Zoë', 'zoe@example.test'],
    ['Amir', 'amir@example.test'],
    ['Noor', 'noor@example.test'],
  ])
    crm.records.create('contact', { firstName, lastName: 'Okafor', email, status: 'active' })
  await crm.clock.advance('40s')
  crm.events.emit({ type: 'finance.payment.failed' })
  crm.events.emit({ type: 'sync.completed' })
  await crm.clock.advance('4m')
  const [contact] = crm.records.list('contact')
  if (contact !== undefined) crm.records.update('contact', contact._id, { status: 'customer' })
  await crm.clock.advance('20s')
  crm.records.delete('contact', crm.records.list('contact')[2]?._id ?? '')
  await crm.clock.advance('12s')
  const token = await crm.login()
  for (const path of ['contacts', 'nothing'])
    await fetch(`${crm.url}/api/sales/${path}`, { headers: { authorization: `Bearer ${token}` } })
  const [created] = crm.deliveries.list().filter(({ eventType }) => eventType === 'contact.created')
  crm.deliveries.resend(created?.id ?? '')
  crm.deliveries.resend(created?.id ?? '', { sign: 'flip-bit' })
  await crm.clock.advance('3s')
}

/** An inbox with an event in each state. */
async function fillInbox(): Promise<{ readonly inbox: Inbox; readonly close: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'postern-screenshots-'))
  const database = openSqlite(join(folder, 'app.db'))
  const inbox = sqliteInbox({ database })
  const receiver = createReceiver({ secret: 'test-secret', inbox, logger: silentLogger })
  let end = () => {}
  let customer = 0
  receiver.on('sync.failed', () => {
    throw new DeadLetter('the list "leads" is gone')
  })
  receiver.on('contact.created', () => {
    throw new DeadLetter(`the customer c_${1_042 + customer++} does not exist`)
  })
  receiver.on('import.completed', () => {
    throw new Error('connect ECONNREFUSED 127.0.0.1:5432')
  })
  receiver.on('export.completed', () => new Promise<void>((resolve) => (end = resolve)))
  const make = createEvents({ seed: 'screenshots' })
  const made = [
    ...Array.from({ length: 4 }, () => make.contact.created()),
    ...['globex', 'acme'].map((accountKey) => make.syncFailed({}, { accountKey })),
    make.importCompleted(),
    make.exportCompleted(),
  ]
  for (const event of made) {
    const body = Buffer.from(JSON.stringify(event))
    await receiver.receive({ body, signature: sign(body, 'test-secret') })
  }
  receiver.work()
  await sleep(1_500)
  const close = async () => {
    end()
    await receiver.close()
    database.close()
    await rm(folder, { recursive: true })
  }
  return { inbox, close }
}

type View = readonly [name: string, query: string, prepare?: (page: Page) => Promise<unknown>]

/** Every view, with the steps before its picture. */
function listViews(crm: Emulator): readonly View[] {
  const find = (test: (delivery: ReturnType<Emulator['deliveries']['list']>[number]) => boolean) =>
    crm.deliveries.list().find(test)?.id ?? ''
  const retrying = find(({ eventType }) => eventType === 'finance.payment.failed')
  const refused = find(({ eventType }) => eventType === 'sync.failed')
  const good = find(({ eventType }) => eventType === 'contact.created')
  const spoilt = find(({ signing }) => signing !== 'valid')
  return [
    ['deliveries', ''],
    ['filtered', '?q=status:failed'],
    ['filtered-away', '?q=type:nothing'],
    ['delivery-ok', `?d=${good}`],
    ['delivery-retrying', `?d=${retrying}`],
    ['delivery-failed', `?d=${refused}`],
    ['delivery-spoilt', `?d=${spoilt}`],
    ['signature', `?d=${refused}`, (page) => page.getByRole('heading', { name: 'Signature' }).scrollIntoViewIfNeeded()],
    ['exact', `?d=${good}`, (page) => page.getByRole('button', { name: 'Exact' }).click()],
    ['more', `?d=${good}`, (page) => page.getByText('More', { exact: true }).click()],
    ['trigger', '', (page) => page.keyboard.press('t')],
    ['recorded-body', '', (page) => page.keyboard.press('t').then(() => page.getByText('A recorded body').click())],
    ['edit', `?d=${good}`, (page) => page.keyboard.press('e')],
    ['help', '', (page) => page.keyboard.press('?')],
    ['failed', '?q=status:failed&by=cause'],
    ['bulk', '?q=status:failed&by=cause', (page) => page.locator('td button').first().click()],
    ['webhooks', '?screen=webhooks'],
    ['webhook-delete', '?screen=webhooks', (page) => page.getByText('Delete…').first().click()],
    ['webhook-new', '?screen=webhooks', (page) => page.getByText('New webhook').click()],
    ['clock', '', (page) => page.getByRole('button', { name: 'Clock' }).click()],
    ['faults', '', (page) => page.getByRole('button', { name: 'Faults' }).click()],
    ['inbox', '?screen=inbox', (page) => page.locator('.row').first().waitFor()],
    ['inbox-errors', '?screen=inbox&by=cause', (page) => page.locator('td button').first().waitFor()],
    [
      'inbox-item',
      '?screen=inbox',
      (page) =>
        page
          .locator('.row a')
          .first()
          .click()
          .then(() => page.locator('.facts').waitFor()),
    ],
  ]
}

/** Shows a view in a page that follows the emulator. */
async function openView(page: Page, crm: Emulator, query = ''): Promise<void> {
  await page.goto(`${crm.url}/_inspector${query}`)
  await page.locator('.link.live').waitFor()
  await sleep(200)
}

async function photograph(browser: Browser, crm: Emulator): Promise<void> {
  const looks = [
    ['light', 1440, 900],
    ['dark', 1440, 900],
    ['light', 1024, 768],
    ['dark', 1024, 768],
    ['light', 390, 800],
    ['dark', 390, 800],
  ] as const
  const wanted = process.argv.slice(2)
  for (const [colorScheme, width, height] of looks) {
    const look = `${colorScheme}-${width}`
    const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: 'reduce' })
    for (const [name, query, prepare] of listViews(crm)) {
      if (wanted.length > 0 && !wanted.includes(name)) continue
      const page = await context.newPage()
      page.on('console', (message) => console.log(look, name, message.text()))
      page.on('pageerror', (error) => console.log(look, name, String(error)))
      await openView(page, crm, query)
      await prepare?.(page).catch((error) => console.log(look, name, String(error).split('\n')[0]))
      await sleep(120)
      await page.screenshot({ path: `${FOLDER}${look}-${name}.png` })
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      if (Number(overflow) > 0) console.log(look, name, `is ${overflow} px too wide`)
      await page.close()
    }
    await context.close()
  }
}

async function photographEmpty(browser: Browser): Promise<void> {
  await using crm = await startEmulator({ logger: silentLogger })
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  await openView(page, crm)
  await page.screenshot({ path: `${FOLDER}light-empty.png` })
  crm.webhooks.create({ url: 'http://localhost:3000/webhooks', events: ['contact.created'] })
  await sleep(300)
  await page.screenshot({ path: `${FOLDER}light-empty-webhook.png` })
  await crm.close()
  await sleep(1_500)
  await page.screenshot({ path: `${FOLDER}light-reconnecting.png` })
  await page.close()
}

/** Takes the small pictures for the documents. */
async function photographForDocs(browser: Browser, crm: Emulator): Promise<void> {
  const wanted = ['delivery-retrying', 'inbox-item']
  const context = await browser.newContext({ viewport: { width: 1440, height: 760 }, colorScheme: 'light' })
  for (const [name, query, prepare] of listViews(crm).filter(([each]) => wanted.includes(each))) {
    const page = await context.newPage()
    await openView(page, crm, query)
    await prepare?.(page)
    await sleep(100)
    const picture = await page.screenshot()
    await page.close()
    await writeFile(`${DOCS}inspector-${name}.webp`, await compress(context, picture))
  }
  await context.close()
}

/** Converts a PNG to WebP, a third of its size; the browser does it. */
async function compress(context: BrowserContext, picture: Buffer): Promise<Buffer> {
  const page = await context.newPage()
  const url = await page.evaluate(`new Promise((resolve) => {
    const image = new Image()
    image.onload = () => {
      const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height })
      canvas.getContext('2d').drawImage(image, 0, 0)
      resolve(canvas.toDataURL('image/webp', 0.75))
    }
    image.src = 'data:image/png;base64,${picture.toString('base64')}'
  })`)
  await page.close()
  return Buffer.from(String(url).split(',')[1] ?? '', 'base64')
}

await mkdir(FOLDER, { recursive: true })
const { crm, close } = await stage()
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-background-networking'],
})
if (process.argv.includes('--docs')) await photographForDocs(browser, crm)
else {
  await photograph(browser, crm)
  await photographEmpty(browser)
}
await browser.close()
await close()
console.log(`written to ${process.argv.includes('--docs') ? DOCS : FOLDER}`)
