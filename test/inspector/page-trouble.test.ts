import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { answer, beginEach, CHROMIUM, context, leave, open, reading, rowsOf, startWith } from './support.ts'

// Trouble from a double click, a held key, a foreign link, a stopped clock, or an unusual body.

describe.skipIf(CHROMIUM === undefined)('the inspector, used clumsily', () => {
  beginEach()

  /** Delays calls, so that a second click comes before the first is answered. */
  function delay(page: Page, path: string): Promise<unknown> {
    return page.route(path, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 150))
      await route.continue()
    })
  }

  it('calls no other route, whatever the URL says of the delivery', async () => {
    const crm = await startWith(['sync.completed'])
    crm.events.emit({ type: 'sync.completed' })
    const { page } = await open(crm, `?d=${encodeURIComponent('../reset?')}`)
    for (const key of ['r', 'c', 'e']) {
      await page.keyboard.press(key)
      await page.getByText('there is no such delivery').first().waitFor()
    }
    expect(crm.webhooks.list()).toHaveLength(1)
    expect(crm.deliveries.list()).toHaveLength(1)
  })

  it('sends once for a double click, and for a key that is held', async () => {
    const crm = await startWith(['sync.completed'], answer(500, 'handler_failed'))
    const { page } = await open(crm)
    await delay(page, '**/_emulator/events')
    await delay(page, '**/resend')
    await delay(page, '**/retry')
    const send = page.locator('dialog button[type=submit]')
    await page.keyboard.press('t')
    await send.dblclick()
    await page.locator('.verdict').waitFor()
    await page.keyboard.press('e')
    await page.locator('dialog textarea').waitFor()
    await send.dblclick()
    await page.locator('dialog').waitFor({ state: 'detached' })
    await expect.poll(() => crm.deliveries.list().length).toBe(2)
    const countAttempts = () => crm.deliveries.list().at(-1)?.attempts.length
    await page.locator('.verdict').getByText('a copy, sent by hand').waitFor()
    await page.locator('.outcome').getByText('failed', { exact: true }).first().waitFor()
    for (let n = 0; n < 5; n++) await page.keyboard.down('r')
    await page.keyboard.up('r')
    await expect.poll(countAttempts).toBe(2)
    await page.waitForTimeout(200) // a second one would have been made by now
    expect([countAttempts(), crm.deliveries.list().length]).toEqual([2, 2])
  })

  it('tries each of many again once for a double click, and reports its progress when it is closed', async () => {
    const crm = await startWith(['sync.completed'], answer(500, 'handler_failed'))
    crm.events.emitMany({ type: 'sync.completed' }, 20)
    const { page } = await open(crm)
    await delay(page, '**/retry')
    await page.getByRole('button', { name: 'Try all 20 again…' }).click()
    await page.getByRole('button', { name: 'Try again 20', exact: true }).dblclick()
    await page
      .getByRole('dialog')
      .getByText(/^\d+ of 20$/)
      .waitFor()
    await page.keyboard.press('Escape')
    await page.getByText(/^stopped: \d+ of 20 done, 0 refused$/).waitFor()
    const [, done = ''] = /stopped: (\d+)/.exec(await page.locator('.toast').innerText()) ?? []
    const made = () => crm.deliveries.list().reduce((sum, { attempts }) => sum + attempts.length, 0)
    await expect.poll(made).toBe(20 + Number(done))
  })

  it('shows a body that is nested 16,000 deep', async () => {
    const crm = await startWith(['sync.completed'])
    crm.events.emit({ type: 'sync.completed' })
    const [first] = crm.deliveries.list()
    const body = `${'['.repeat(16_000)}${']'.repeat(16_000)}`
    const made = crm.deliveries.resend(first?.id ?? '', { body })
    const { page, complaints } = await open(crm, `?d=${made.id}`)
    await page.locator('.verdict').getByText('200 handled').waitFor()
    await page.getByRole('button', { name: 'Exact', exact: true }).click()
    expect(complaints).toEqual([])
  })

  it('keeps the sample of the last requested type', async () => {
    const crm = await startWith(['sync.completed'])
    const { page } = await open(crm)
    await delay(page, '**/samples/sync.completed')
    const late = page.waitForResponse('**/samples/sync.completed')
    await page.keyboard.press('t')
    await page.getByLabel('Type', { exact: true }).fill('opportunity.created')
    const data = page.locator('dialog textarea')
    await expect.poll(() => data.inputValue()).toContain('"record":')
    await late
    expect(await data.inputValue()).toContain('"record":')
  })

  it('leaves a click with Ctrl on a link to the browser', async () => {
    const crm = await startWith(['sync.completed'])
    const { page } = await open(crm, '?screen=webhooks')
    const opened = context.waitForEvent('page')
    await page.locator('tbody a').click({ modifiers: ['Control'] })
    expect((await opened).url()).toContain('?q=webhook%3A')
    expect(page.url()).toContain('?screen=webhooks')
  })

  const focused = (page: Page) => page.evaluate('document.activeElement?.textContent?.slice(0, 20) ?? ""')

  it('returns the focus after a dialog', async () => {
    const crm = await startWith(['sync.completed'])
    crm.events.emit({ type: 'sync.completed' })
    const { page } = await open(crm)
    await rowsOf(page).getByText('handled', { exact: true }).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('e')
    await page.getByRole('dialog', { name: 'Edit and send' }).getByRole('textbox').waitFor()
    await leave(page)
    expect(await focused(page)).toBe('sync.completed')
    await page.goto(`${crm.url}/_inspector?d=${crm.deliveries.list()[0]?.id}`)
    await page.getByRole('region', { name: 'Delivery' }).getByText('200 handled').first().waitFor()
    await page.keyboard.press('e')
    await page.getByRole('dialog', { name: 'Edit and send' }).getByRole('textbox').waitFor()
    await leave(page)
    expect(await focused(page)).toBe('sync.completed')
  })

  it('edits the row that was just moved to, before the page is drawn', async () => {
    const crm = await startWith(['sync.completed'])
    for (const type of ['sync.completed', 'sync.completed']) crm.events.emit({ type })
    const { page } = await open(crm)
    await expect.poll(() => rowsOf(page).getByText('handled', { exact: true }).count()).toBe(2)
    await page.keyboard.press('j')
    await page.evaluate(`for (const key of 'je') document.dispatchEvent(new KeyboardEvent('keydown', { key }))`)
    const body = page.getByRole('dialog', { name: 'Edit and send' }).getByRole('textbox')
    expect(await body.inputValue()).toContain(String(crm.deliveries.list()[0]?.eventId)) // the older one is the second row
  })

  it('refuses data that are no object beside their field, keeps them for a mistyped type, and proposes the nearest', async () => {
    const crm = await startWith(['sync.completed'])
    const { page } = await open(crm)
    await page.keyboard.press('t')
    const dialog = page.getByRole('dialog', { name: 'Trigger an event' })
    const data = dialog.getByRole('textbox', { name: 'Data of the event' })
    await expect.poll(() => data.inputValue()).toContain('ledger')
    for (const text of ['[1]', '"text"', '1', 'null', '{']) {
      await data.fill(text)
      await dialog.getByRole('alert').getByText('JSON').waitFor()
      expect(await data.getAttribute('aria-invalid')).toBe('true')
      expect(await dialog.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true)
    }
    await data.fill('{"mine": 1}')
    await dialog.getByLabel('Type', { exact: true }).fill('sync.compelted')
    await dialog.getByRole('alert').getByRole('button', { name: 'sync.completed' }).click()
    expect(await dialog.getByLabel('Type', { exact: true }).inputValue()).toBe('sync.completed')
    expect(await data.inputValue()).toBe('{"mine": 1}')
    await dialog.getByLabel('Type', { exact: true }).fill('sync.unknown')
    await dialog.getByRole('button', { name: 'Send' }).click()
    await dialog
      .getByRole('alert')
      .last()
      .getByText(/sync\.unknown/)
      .waitFor()
    expect(crm.deliveries.list()).toEqual([])
  })

  it('shows small faults exactly, and keeps them if another field is changed', async () => {
    const crm = await startWith(['sync.completed'], undefined, { faults: { fail: 0.004 } })
    const { page } = await open(crm)
    await page.getByRole('button', { name: 'Faults: 0.4 % lost' }).click()
    const dialog = page.getByRole('dialog', { name: 'Faults of deliveries' })
    expect(await dialog.getByLabel('Lost before they are sent').inputValue()).toBe('0.4')
    const twice = dialog.getByLabel('Sent twice')
    await twice.click()
    for (const key of ['ControlOrMeta+A', '1']) await page.keyboard.press(key)
    for (let n = 0; n < 2; n++) await page.waitForResponse('**/_emulator/state') // the form is drawn again
    for (const key of ['3', '0', 'Backspace']) await page.keyboard.press(key)
    expect(await twice.inputValue()).toBe('13')
    await dialog.getByRole('button', { name: 'Set', exact: true }).click()
    await page.getByRole('button', { name: 'Faults: 0.4 % lost, 13 % twice' }).waitFor()
  })

  it('names the zone of the times of a filter in the address', async () => {
    const crm = await startWith(['sync.completed'], undefined, { clock: 'manual' })
    crm.events.emit({ type: 'sync.completed' })
    const { page } = await open(crm)
    const filter = page.getByRole('searchbox', { name: 'Filter' })
    await filter.fill('since:2001-01-01')
    await page.keyboard.press('Enter')
    await expect.poll(() => filter.inputValue()).toMatch(/^since:200[01]-\S+T\d\d:\d\dZ$/)
    await expect.poll(() => rowsOf(page).count()).toBe(1)
  })

  it('sends a pasted body with its CRLF, and opens a body for editing pretty-printed or exact', async () => {
    const bodies: string[] = []
    const receiver = reading((body, request, response) => {
      bodies.push(String(body))
      answer(200, 'handled')(request, response)
    })
    const crm = await startWith(['sync.completed'], receiver)
    const { page } = await open(crm)
    const body =
      '{"id":"evt_crlf",\r\n"type":"sync.completed","timestamp":"2025-01-01T00:00:00Z",\r\n"accountKey":"acme","data":{}}\r\n'
    await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(body)})`)
    await page.keyboard.press('t')
    await page.getByRole('button', { name: 'A recorded body' }).click()
    await page.getByRole('dialog').getByRole('textbox').click()
    await page.keyboard.press('ControlOrMeta+V')
    await page.keyboard.press('Control+Enter')
    await expect.poll(() => bodies).toEqual([body])
    await page.locator('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('e')
    const editor = page.getByRole('dialog', { name: 'Edit and send' }).getByRole('textbox')
    expect(await editor.inputValue()).toContain('\n  "type": "sync.completed"')
    await page.getByRole('dialog').getByRole('button', { name: 'Exact' }).click()
    await page.getByLabel('keep the event id').check()
    await page.keyboard.press('Control+Enter')
    await expect.poll(() => bodies).toEqual([body, body])
  })
})
