import { setTimeout as sleep } from 'node:timers/promises'
import puppeteer, { type Browser, type Page } from 'puppeteer-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findEngine } from '../engines/require.ts'
import { answer, MEASURE, start, startWith, WHOLE, WIDTHS } from './support.ts'

const FIREFOX = findEngine('firefox-esr', '/usr/bin')

/** A page that follows the emulator, and all its errors. */
async function open(browser: Browser, url: string, complaints: string[]): Promise<Page> {
  const page = await browser.newPage()
  page.setDefaultTimeout(100_000) // a slow machine is no failure
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warn') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  await page.goto(url)
  await page.waitForSelector('#link.live')
  return page
}

describe.skipIf(FIREFOX === undefined)('the inspector in Firefox', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await puppeteer.launch({ browser: 'firefox', executablePath: FIREFOX ?? '', headless: true })
  })
  afterAll(() => browser?.close())

  it('follows two tabs live, opens a delivery by the keyboard, and shows every screen', async () => {
    const crm = await startWith(['contact.created'], answer(500, 'handler_failed'))
    const complaints: string[] = []
    const other = await open(browser, `${crm.url}/_inspector`, complaints)
    const page = await open(browser, `${crm.url}/_inspector`, complaints)
    crm.events.emit({ type: 'contact.created' })
    await Promise.all([page, other].map((each) => each.waitForSelector('tr.row .result.bad')))
    for (const key of ['j', 'Enter'] as const) await page.keyboard.press(key)
    await page.waitForSelector('.verdict')
    expect(await page.$eval('.verdict', ({ textContent }) => textContent)).toContain('500 handler_failed')
    expect(await page.$eval('.steps', ({ textContent }) => textContent)).toContain('sha256=')
    await page.keyboard.press('Escape')
    for (const [key, text] of [
      ['g', 'contact.created · 500 handler_failed'],
      ['2', 'API calls'],
    ] as const) {
      await page.keyboard.press(key)
      await page.waitForFunction(`document.querySelector('main').textContent.includes(${JSON.stringify(text)})`)
    }
    for (const [name, text] of [
      ['Clock', 'Next attempt'],
      ['Faults', 'Lost before they are sent'],
    ] as const) {
      await page.click(`[aria-label^=${name}]`)
      await page.waitForFunction(`document.querySelector('dialog')?.textContent.includes(${JSON.stringify(text)})`)
      await page.keyboard.press('Escape')
    }
    expect(complaints).toEqual([])
  })

  it('shows each delivery of a burst in two pages, and the whole type in equal rows at any width', async () => {
    const crm = await start({ assume: { eventsWhilePaused: 'kept' } })
    crm.webhooks.create({ url: 'http://localhost:9/hooks', events: ['finance.payment.completed'], active: false })
    const complaints: string[] = []
    const pages = [1, 2].map(() => open(browser, `${crm.url}/_inspector`, complaints))
    for (let n = 0; n < 300; n++) {
      crm.events.emit({ type: 'finance.payment.completed' })
      await sleep(8)
    }
    for (const page of await Promise.all(pages))
      await page.waitForFunction("document.querySelector('.hint-line')?.textContent.startsWith('300 deliveries')")
    const page = await pages[0]
    await page?.bringToFront() // a page in the background is not painted
    for (const width of WIDTHS) {
      await page?.setViewport({ width, height: 1_000 })
      expect(await page?.evaluate(MEASURE), `${width} px`).toEqual(WHOLE)
    }
    expect(complaints).toEqual([])
  })
})
