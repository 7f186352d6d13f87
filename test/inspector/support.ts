import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { buffer } from 'node:stream/consumers'
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core'
import { type Emulator, type EmulatorOptions, startEmulator } from 'postern/emulator'
import { afterAll, afterEach, beforeAll, beforeEach, onTestFinished } from 'vitest'
import { findEngine } from '../engines/require.ts'

const quiet = { debug() {}, info() {}, warn() {}, error: console.error }

/** The path of Chromium; undefined if it is missing, so that its tests are skipped. */
export const CHROMIUM: string | undefined = findEngine('chromium', '/usr/bin')

function launch(): Promise<Browser> {
  // Without a GPU and a sandbox, as in a container.
  const args = [
    '--no-sandbox',
    '--disable-background-networking',
    '--disable-gpu',
    '--host-resolver-rules=MAP crm.test 127.0.0.1',
  ]
  return chromium.launch({ executablePath: CHROMIUM ?? '', args })
}

/** The browser's profile of the running test. */
export let context: BrowserContext

/** Lets each test of a suite run in its own profile, in one browser. */
export function beginEach(): void {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
    await warmUp()
  })
  afterAll(() => browser?.close())
  beforeEach(async () => {
    const permissions = ['clipboard-read', 'clipboard-write']
    context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce', permissions })
    context.setDefaultTimeout(100_000) // a slow machine is no failure
  })
  afterEach(() => context.close())
}

/** An emulator that ends with the test. */
export async function start(options: EmulatorOptions = {}): Promise<Emulator> {
  const crm = await startEmulator({ logger: quiet, ...options })
  onTestFinished(() => crm.close())
  return crm
}

/** A server that ends with the test. */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${Object(server.address()).port}`
}

/** An emulator with a webhook for a receiver, which answers that it has handled the event unless the test says otherwise. */
export async function startWith(
  events: readonly string[],
  listener = answer(200, 'handled'),
  options: EmulatorOptions = {},
): Promise<Emulator> {
  const crm = await start(options)
  crm.webhooks.create({ url: `${await serve(listener)}/hooks`, events })
  return crm
}

/** A receiver that reads the whole body before it answers. */
export function reading(
  handle: (body: Buffer, request: IncomingMessage, response: ServerResponse) => void,
): RequestListener {
  return async (request, response) => handle(await buffer(request), request, response)
}

/** A receiver that answers with that status and code word. */
export function answer(status: number, code: string): RequestListener {
  return reading((_body, _request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ code }))
  })
}

/** The rows of the list of deliveries. */
export function rowsOf(page: Page): Locator {
  return page.locator('.rows tbody tr.row')
}

/** Closes the dialog. Keys pressed before it is gone go to the dialog. */
export async function leave(page: Page): Promise<void> {
  await page.keyboard.press('Escape')
  await page.locator('dialog').waitFor({ state: 'detached' })
}

/** A live page of the inspector, and all its errors. */
export interface OpenPage {
  readonly page: Page
  readonly complaints: readonly string[]
}

export function open(crm: Pick<Emulator, 'url'>, query = ''): Promise<OpenPage> {
  return openAt(`${crm.url}/_inspector${query}`)
}

/** Opens an address of the page, and waits until it is live. */
export async function openAt(url: string): Promise<OpenPage> {
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  await page.goto(url)
  await page.locator('#link.live').waitFor()
  return { page, complaints }
}

/** Returns what axe finds on the page. */
export async function findViolations(page: Page): Promise<readonly string[]> {
  await page.evaluate(await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'))
  const found = await page.evaluate(
    'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" | ")))',
  )
  return found as readonly string[] // texts, as requested
}

export function widthOf(page: Page): Promise<unknown> {
  return page.evaluate('document.documentElement.scrollWidth')
}

/** Builds the page, which the package finds built. */
async function warmUp(): Promise<void> {
  const crm = await startEmulator({ port: false, logger: quiet })
  await crm.fetch(new Request(`${crm.url}/_inspector`))
  await crm.close()
}

/** Widths at which the list is measured, in pixels. */
export const WIDTHS = [390, 800, 1_024, 1_280, 1_440, 1_680, 1_920, 2_560] as const

/** Numbers of types that are cut, the heads of columns that are too narrow for a word, and the pixels of the list beside all columns, as they were painted. */
export const MEASURE = `new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => {
  const rightOf = (element) => element.getBoundingClientRect().right
  const heads = [...document.querySelectorAll('.rows th')].filter((head) => head.offsetWidth > 0)
  const list = document.querySelector('.list .scroll')
  const types = [...document.querySelectorAll('.rows .row td:has(a)')]
  resolve({
    cut: types.filter((cell) => rightOf(cell.querySelector('a')) > rightOf(cell)).length,
    heights: [...new Set(types.map((cell) => cell.parentElement.getBoundingClientRect().height - (list.clientWidth < 900 ? 44 : 28)))],
    narrow: heads.filter((head) => head.offsetWidth < 60).map((head) => head.textContent),
    rest: Math.abs(Math.round(list.clientWidth - heads.reduce((sum, head) => sum + head.getBoundingClientRect().width, 0))),
  })
})))`

/** The result of `MEASURE` for a list that cuts nothing, with one line a row, and two below 900 px. */
export const WHOLE = { cut: 0, narrow: [], rest: 0, heights: [0] }
