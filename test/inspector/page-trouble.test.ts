import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { answer, beginEach, CHROMIUM, context, open, startWith } from './support.ts'

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
    await page.getByRole('button', { name: 'Try all 20 failed again…' }).click()
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

  it('closes a menu by Esc before it leaves the delivery', async () => {
    const crm = await startWith(['sync.completed'])
    crm.events.emit({ type: 'sync.completed' })
    const { page } = await open(crm, `?d=${crm.deliveries.list()[0]?.id}`)
    await page.locator('.actions summary').click()
    await page.getByRole('button', { name: 'Copy curl command' }).waitFor()
    await page.keyboard.press('Escape')
    await page.locator('.menu[open]').waitFor({ state: 'detached' })
    expect(await page.locator('.detail').count()).toBe(1)
    await page.keyboard.press('Escape')
    await page.locator('.detail').waitFor({ state: 'detached' })
  })

  it('leaves a click with Ctrl on a link to the browser', async () => {
    const crm = await startWith(['sync.completed'])
    const { page } = await open(crm, '?screen=webhooks')
    const opened = context.waitForEvent('page')
    await page.locator('tbody a').click({ modifiers: ['Control'] })
    expect((await opened).url()).toContain('?q=webhook%3A')
    expect(page.url()).toContain('?screen=webhooks')
  })
})
