import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { answer, beginEach, CHROMIUM, leave, open, rowsOf, startWith } from './support.ts'

// What a user sees who reads a list or a delivery while others change them.

describe.skipIf(CHROMIUM === undefined)('read while things change, the inspector', () => {
  beginEach()
  const topOf = async (page: Page) => (await page.locator('tr:focus-within').boundingBox())?.y

  it('moves no row under a filter, keeps the selected one that no longer matches, and counts what newly matches', async () => {
    let status = 500
    const receiver = (...args: Parameters<ReturnType<typeof answer>>) => answer(status, 'any')(...args)
    const crm = await startWith(['sync.completed', 'sync.failed'], receiver, { clock: 'manual' })
    crm.events.emit({ type: 'sync.completed' })
    crm.events.emit({ type: 'sync.failed' })
    await crm.clock.advance(0)
    const { page } = await open(crm, '?q=status:retrying')
    await expect.poll(() => rowsOf(page).count()).toBe(2)
    await page.keyboard.press('j')
    await page.locator('tr:focus-within').getByText('sync.failed').waitFor()
    const top = await topOf(page)
    crm.events.emit({ type: 'sync.completed', id: 'evt_new' })
    await crm.clock.advance(0)
    await page.locator('.fresh').getByText('1 new').waitFor()
    status = 200
    await crm.clock.advance('1m')
    await page.locator('tr:focus-within').getByText('delivered').waitFor()
    expect([await rowsOf(page).count(), await topOf(page)]).toEqual([2, top])
    await page.keyboard.press('.')
    await page.getByText('0 of 3 match this filter').waitFor()
    // No key acts on the row of the cursor, which is no longer shown.
    for (const key of ['r', 'e', '?']) await page.keyboard.press(key)
    await page.getByRole('dialog', { name: 'Keys and filters' }).waitFor()
    await leave(page)
    expect(crm.deliveries.list()).toHaveLength(3)
    await page.locator('#filter').fill('since:5m')
    await expect.poll(() => rowsOf(page).count()).toBe(3)
    await page.keyboard.press('Escape')
    await crm.clock.advance('10m')
    await page.getByText('0 of 3 match this filter').waitFor()
  })

  it('holds the list again after new rows were shown, and after Back', async () => {
    const crm = await startWith(['sync.completed'])
    crm.events.emit({ type: 'sync.completed' })
    const { page } = await open(crm)
    await rowsOf(page).click()
    crm.events.emit({ type: 'sync.completed' })
    await page.locator('.fresh').getByText('1 new').waitFor()
    await page.keyboard.press('.')
    await expect.poll(() => rowsOf(page).count()).toBe(2)
    crm.events.emit({ type: 'sync.completed' })
    await page.locator('.fresh').getByText('1 new').waitFor()
    await page.goBack()
    await page.locator('.detail').waitFor({ state: 'detached' })
    expect(await rowsOf(page).count()).toBe(2)
  })

  it('says that the open delivery does not match the filter', async () => {
    const crm = await startWith(['sync.completed'])
    const [id] = crm.events.emit({ type: 'sync.completed' }).deliveries
    const { page } = await open(crm, `?q=status:failed&d=${id}`)
    await page.getByText('The open one does not match').waitFor()
  })

  it('takes j and Enter for the list after a button was pressed by the mouse', async () => {
    const crm = await startWith(['sync.completed'])
    crm.events.emit({ type: 'sync.completed' })
    const { page } = await open(crm)
    await page.getByRole('button', { name: 'Trigger' }).click()
    await page.locator('dialog textarea').waitFor()
    await leave(page)
    await page.keyboard.press('j')
    await page.locator('tr:focus-within').waitFor()
    await page.keyboard.press('Enter')
    await page.locator('.detail').waitFor()
    expect(await page.locator('dialog').count()).toBe(0)
    expect(await page.title()).toBe('sync.completed · Deliveries · Postern')
  })

  it('asks before it pauses a webhook, and has titles and headings on each screen', async () => {
    const crm = await startWith(['sync.completed'])
    crm.events.emit({ type: 'sync.completed' })
    const { page } = await open(crm)
    await page.keyboard.press('j')
    await page.keyboard.press('p')
    await page.getByRole('dialog', { name: 'Pause?' }).waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(() => crm.webhooks.list()[0]?.active).toBe(false)
    for (const [key, title] of [
      ['2', 'Webhooks'],
      ['3', 'Service'],
      ['1', 'Deliveries'],
    ] as const) {
      await page.keyboard.press(key)
      await expect.poll(() => page.title()).toBe(`${title} · Postern`)
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe(title)
    }
  })

  it('shows an id that would change the direction of the text as escapes, and says that an answer was cut', async () => {
    const crm = await startWith(['sync.completed'], (request, response) => {
      request.resume()
      response.end('x'.repeat(70_000))
    })
    const [id] = crm.events.emit({ type: 'sync.completed', id: 'evt_\u202eabc' }).deliveries
    const { page } = await open(crm)
    await rowsOf(page).getByText('evt_\\u202eabc').locator('visible=true').waitFor()
    await page.goto(`${crm.url}/_inspector?d=${id}`)
    await page.locator('.detail .title').getByText('evt_\\u202eabc').waitFor()
    await page.getByText('cut after 64.0 KiB').waitFor()
  })
})
