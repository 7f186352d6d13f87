import type { Page } from 'playwright-core'
import type { Emulator } from 'postern/emulator'
import { describe, expect, it } from 'vitest'
import { beginEach, CHROMIUM, context, open, start } from './support.ts'

// What a page shows beside the emulator, however many pages are open, opened and closed while deliveries come.

describe.skipIf(CHROMIUM === undefined)('live, the inspector', () => {
  beginEach()
  const countOf = (page: Page) => page.locator('.hint-line').innerText()

  /** Emits deliveries that are never sent, 125 a second, while `work` runs. Returns their number. */
  async function emitWhile(crm: Emulator, work: () => Promise<unknown>): Promise<number> {
    let count = 0
    const timer = setInterval(() => {
      crm.events.emit({ type: 'sync.completed' })
      count++
    }, 8)
    await work().finally(() => clearInterval(timer))
    return count
  }

  async function startPaused(): Promise<Emulator> {
    const crm = await start({ assume: { eventsWhilePaused: 'kept' } })
    crm.webhooks.create({ url: 'http://localhost:9/hooks', events: ['sync.completed'], active: false })
    return crm
  }

  it('shows each delivery in five pages that are opened while they come, and after the first is closed', async () => {
    const crm = await startPaused()
    crm.events.emitMany({ type: 'sync.completed' }, 400)
    const pages: Page[] = []
    const made = await emitWhile(crm, async () => {
      for (let n = 0; n < 5; n++) pages.push((await open(crm)).page)
    })
    const named = (count: number) => `${count.toLocaleString('en')} deliveries`
    for (const page of pages) await expect.poll(() => countOf(page)).toBe(named(400 + made))
    const more = await emitWhile(crm, async () => {
      await pages.shift()?.close()
      await pages[0]?.waitForTimeout(1_500) // deliveries come all the time
    })
    for (const page of pages) await expect.poll(() => countOf(page)).toBe(named(400 + made + more))
  })

  it('is live in nine tabs, and in those that are left when some are closed', async () => {
    const crm = await startPaused()
    const tabs: Page[] = []
    for (let n = 0; n < 9; n++) tabs.push((await open(crm)).page)
    crm.events.emit({ type: 'sync.completed' })
    for (const tab of tabs) await expect.poll(() => countOf(tab)).toBe('1 delivery')
    for (const tab of tabs.splice(0, 4)) await tab.close()
    crm.events.emit({ type: 'sync.completed' })
    for (const tab of tabs) await expect.poll(() => countOf(tab)).toBe('2 deliveries')
  })

  it('continues after the network was lost, without loading the list again', async () => {
    const crm = await startPaused()
    const { page } = await open(crm)
    const lists: string[] = []
    page.on('request', (request) => {
      if (request.url().includes('/rows')) lists.push(request.url())
    })
    await context.setOffline(true)
    await page.locator('#link.reconnecting').waitFor()
    crm.events.emitMany({ type: 'sync.completed' }, 3)
    await context.setOffline(false)
    await expect.poll(() => countOf(page)).toBe('3 deliveries')
    expect(lists).toEqual([])
  })

  it('loads the list again if that has failed', async () => {
    const crm = await startPaused()
    crm.events.emit({ type: 'sync.completed' })
    let failures = 1
    await context.route('**/_emulator/rows{,?*}', (route) => (failures-- > 0 ? route.abort() : route.continue()))
    const { page } = await open(crm)
    await expect.poll(() => countOf(page)).toBe('1 delivery')
  })

  it('shows no delivery of a webhook that was deleted, and a way back from one that is open', async () => {
    const crm = await start({ assume: { eventsWhilePaused: 'kept', deletedLog: 'gone' } })
    const { id } = crm.webhooks.create({ url: 'http://localhost:9/', events: ['sync.completed'], active: false })
    const [delivery] = crm.events.emit({ type: 'sync.completed' }).deliveries
    // The page asks for the one delivery before it knows the list.
    const answered = context.waitForEvent('response', (response) => response.url().endsWith(`/rows/${delivery}`))
    await context.route('**/_emulator/rows{,?*}', (route) => answered.then(() => route.continue()))
    const { page } = await open(crm, `?d=${delivery}`)
    await page.locator('.verdict').waitFor()
    crm.webhooks.delete(id)
    await page.getByText('there is no such delivery').waitFor()
    await page.getByRole('button', { name: 'Back to the list' }).click()
    await page.getByText('No webhook is registered').waitFor()
  })

  it('says which deliveries it has, and opens an older one by its link', async () => {
    const crm = await startPaused()
    const [oldest] = crm.events.emit({ type: 'sync.completed' }).deliveries
    for (let n = 0; n < 11; n++) crm.events.emitMany({ type: 'sync.completed' }, 1_000)
    const { page } = await open(crm, `?d=${oldest}`)
    await page.locator('.verdict').getByText('paused').waitFor()
    await expect.poll(() => countOf(page)).toContain('the newest of 11,001')
  })
})
