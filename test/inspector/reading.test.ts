import { describe, expect, it } from 'vitest'
import { answer, beginEach, CHROMIUM, leave, open, rowsOf, start, startWith } from './support.ts'

// What a user sees who reads a list or a delivery while others change them.

describe.skipIf(CHROMIUM === undefined)('read while things change, the inspector', () => {
  beginEach()
  it('leaves the focus to the list, and to no other row, if its row no longer matches', async () => {
    let status = 500
    const receiver = (...args: Parameters<ReturnType<typeof answer>>) => answer(status, 'any')(...args)
    const crm = await startWith(['sync.completed', 'sync.failed', 'contact.created'], receiver, { clock: 'manual' })
    for (const type of ['contact.created', 'sync.completed', 'sync.failed']) crm.events.emit({ type })
    await crm.clock.advance(0)
    const { page } = await open(crm, '?q=status:retrying')
    await expect.poll(() => rowsOf(page).count()).toBe(3)
    for (let n = 0; n < 2; n++) await page.keyboard.press('j')
    await page.locator('tr:focus-within').getByText('sync.completed').waitFor()
    status = 200
    await page.keyboard.press('r')
    await expect.poll(() => rowsOf(page).count()).toBe(2)
    await expect.poll(() => page.evaluate('document.activeElement.className')).toBe('scroll')
    await page.keyboard.press('r') // as a second press: it tries no other event again
    await page.keyboard.press('j')
    await page.locator('tr:focus-within').getByText('contact.created').waitFor()
    expect(crm.deliveries.list().map(({ attempts }) => attempts.length)).toEqual([1, 2, 1])
    await page.locator('#filter').fill('since:5m')
    await expect.poll(() => rowsOf(page).count()).toBe(3)
    await page.keyboard.press('Escape')
    await crm.clock.advance('10m')
    await page.getByText('0 of 3 match this filter').waitFor()
    // No key acts on a row that is no longer shown.
    for (const key of ['r', 'e', '?']) await page.keyboard.press(key)
    await page.getByRole('dialog', { name: 'Keys and filters' }).waitFor()
    expect(crm.deliveries.list()).toHaveLength(3)
  })

  it('acts on nothing after a detail is closed whose row has left the list', async () => {
    let status = 500
    const receiver = (...args: Parameters<ReturnType<typeof answer>>) => answer(status, 'any')(...args)
    const crm = await startWith(['sync.completed'], receiver, { clock: 'manual' })
    crm.events.emitMany({ type: 'sync.completed' }, 2)
    await crm.clock.advance(0)
    const [{ id } = { id: '' }] = crm.deliveries.list()
    const { page } = await open(crm, `?q=status:retrying&d=${id}`)
    await expect.poll(() => rowsOf(page).count()).toBe(2)
    status = 200
    await page.keyboard.press('r')
    await expect.poll(() => rowsOf(page).count()).toBe(1)
    await page.keyboard.press('Escape')
    await page.locator('.detail').waitFor({ state: 'detached' })
    for (const key of ['e', '?']) await page.keyboard.press(key)
    await page.getByRole('dialog', { name: 'Keys and filters' }).waitFor()
  })

  it('holds new rows back only while the list is scrolled, and none after the emulator was started again', async () => {
    const crm = await startWith(['sync.completed'])
    crm.events.emitMany({ type: 'sync.completed' }, 60)
    const { page } = await open(crm)
    await rowsOf(page).nth(5).click()
    crm.events.emit({ type: 'sync.completed' })
    await page.getByText('61 deliveries').waitFor()
    await page.evaluate("document.querySelector('.list .scroll').scrollTop = 300")
    crm.events.emit({ type: 'sync.completed' })
    await page.locator('.fresh').getByText('1 new').waitFor()
    await page.evaluate("document.querySelector('.list .scroll').scrollTop = 0")
    await page.getByText('62 deliveries').waitFor()
    await page.evaluate("document.querySelector('.list .scroll').scrollTop = 300")
    await crm.close()
    const again = await startWith(['sync.completed'], answer(200, 'handled'), { port: Number(new URL(crm.url).port) })
    again.events.emitMany({ type: 'sync.completed' }, 3)
    await page.getByText('3 deliveries').waitFor()
    await expect.poll(() => rowsOf(page).count()).toBe(3)
  })

  it('draws a window of rows around an old delivery that a link opens', async () => {
    const crm = await start({ assume: { eventsWhilePaused: 'kept' } })
    crm.webhooks.create({ url: 'http://localhost:9/hooks', events: ['sync.completed'], active: false })
    const made = crm.events.emitMany({ type: 'sync.completed' }, 4_000)
    const { page, complaints } = await open(crm, `?d=${made[10]?.deliveries[0]}`)
    await page.locator('tr[aria-current]').waitFor()
    await expect.poll(() => page.locator('tr[aria-current]').getAttribute('aria-rowindex')).toBe('3991')
    expect(await rowsOf(page).count()).toBeLessThan(100)
    await page.keyboard.press('j')
    await expect.poll(() => page.locator('tr[aria-current]').getAttribute('aria-rowindex')).toBe('3992')
    expect(complaints).toEqual([])
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
    await page.keyboard.press('2')
    await page.getByRole('button', { name: 'Pause…' }).click()
    await page.getByRole('dialog', { name: 'Pause the webhook?' }).waitFor()
    await page.keyboard.press('Enter')
    await page.locator('dialog').waitFor({ state: 'detached' })
    expect(crm.webhooks.list()[0]?.active).toBe(false)
    for (const [key, title] of [
      ['2', 'Webhooks'],
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
