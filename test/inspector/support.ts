import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { type Emulator, type EmulatorOptions, startEmulator } from 'postern/emulator'
import { afterAll, afterEach, beforeAll, beforeEach, onTestFinished } from 'vitest'
import { findEngine } from '../engines/require.ts'

const quiet = { debug() {}, info() {}, warn() {}, error: console.error }

/** The path of Chromium; undefined if it is missing, so that its tests are skipped. */
export const CHROMIUM: string | undefined = findEngine('chromium', '/usr/bin')

/** The tests' measurements, printed if FIGURES=1 is set. */
export const figures = new Map<string, string>()

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

/** Lets each test of a suite run in its own profile, in one browser. */
export function beginEach(begin: (context: BrowserContext) => unknown): void {
  let browser: Browser
  let context: BrowserContext
  beforeAll(async () => {
    browser = await launch()
    await warmUp()
  })
  afterAll(() => browser?.close())
  beforeEach(async () => {
    context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' })
    context.setDefaultTimeout(100_000) // a slow machine is no failure
    await begin(context)
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

/** A receiver that answers with that status and code word. */
export function answer(status: number, code: string): RequestListener {
  return (request, response) => {
    request.resume()
    request.on('end', () => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ code }))
    })
  }
}

/** A live page of the inspector, and all its errors. */
export interface OpenPage {
  readonly page: Page
  readonly complaints: readonly string[]
}

export async function open(
  context: BrowserContext,
  crm: Pick<Emulator, 'url'>,
  query = '',
): Promise<OpenPage & { readonly liveAfterMs: number }> {
  return openAt(context, `${crm.url}/_inspector${query}`)
}

/** Opens an address of the page, and waits until it is live. */
export async function openAt(
  context: BrowserContext,
  url: string,
): Promise<OpenPage & { readonly liveAfterMs: number }> {
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  const startedAt = performance.now()
  await page.goto(url)
  await page.locator('#link.live').waitFor()
  return { page, complaints, liveAfterMs: performance.now() - startedAt }
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
