import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { Gate } from '../support/gate.ts'
import {
  answer,
  beginEach,
  CHROMIUM,
  context,
  findViolations,
  leave,
  MEASURE,
  open,
  reading,
  rowsOf,
  serve,
  start,
  startWith,
  WHOLE,
  WIDTHS,
  widthOf,
} from './support.ts'

// The page in a real browser. All tests share one browser, and each has its own profile.

const SCREENS = ['?q=status:failed&by=cause', '?screen=webhooks']

describe.skipIf(CHROMIUM === undefined)('the inspector in Chromium', () => {
  beginEach()
  const countLine = (page: Page) => page.locator('.hint-line span').first()

  it('opens live, and shows an event without a reload', async () => {
    const crm = await startWith(['contact.created'])
    const { page, complaints } = await open(crm)
    await page.getByText('No deliveries yet').waitFor()
    crm.events.emit({ type: 'contact.created' })
    await rowsOf(page).getByText('handled', { exact: true }).first().waitFor()
    expect(await rowsOf(page).innerText()).toMatch(
      /^✓ handled\s+(?:now|\d+ s ago)\s+contact\.created\s+…\w{8}\s+:\d+\/hooks\s+200 handled\s+1\/5\s+\d+$/,
    )
    expect(complaints).toEqual([])
  })

  it('settles after a burst of 500, and keeps the open row in its place', async () => {
    const crm = await startWith(['sync.completed'])
    crm.events.emitMany({ type: 'sync.completed' }, 60)
    const { page, complaints } = await open(crm)
    await rowsOf(page).getByText('handled', { exact: true }).first().waitFor()
    for (let n = 0; n < 40; n++) await page.keyboard.press('j')
    await expect.poll(() => page.locator('tr:focus-within').getAttribute('aria-rowindex')).toBe('41')
    const before = await page.locator('tr:focus-within').boundingBox()
    crm.events.emitMany({ type: 'sync.completed' }, 500)
    await page.locator('.fresh').getByText('500 new').waitFor()
    expect(await page.locator('tr:focus-within').boundingBox()).toEqual(before)
    await page.keyboard.press('.')
    await page.locator('#filter').fill('-status:success')
    await crm.deliveries.whenIdle()
    await page.getByText('0 of 560 match this filter').waitFor()
    await page.getByRole('button', { name: 'Clear the filter' }).click()
    await expect.poll(() => countLine(page).innerText()).toBe('560 deliveries')
    expect(complaints).toEqual([])
  })

  it('shows 10,000 rows by drawing few of them, and filters them immediately', async () => {
    const crm = await start({ assume: { eventsWhilePaused: 'kept' } })
    crm.webhooks.create({ url: 'http://localhost:9/hooks', events: ['sync.completed', 'sync.failed'], active: false })
    crm.events.emitMany({ type: 'sync.completed' }, 9_990)
    crm.events.emitMany({ type: 'sync.failed' }, 10)
    const gate = new Gate()
    await context.route('**/rows?*before=*', (route) => gate.promise.then(() => route.continue()))
    const { page, complaints } = await open(crm)
    await rowsOf(page).first().waitFor() // before the others are loaded
    await page.getByText('the newest of 10,000').waitFor()
    gate.open()
    await expect.poll(() => countLine(page).innerText()).toBe('10,000 deliveries')
    expect(await rowsOf(page).count()).toBeLessThanOrEqual(200)
    await page.evaluate("document.querySelector('.list .scroll').scrollTop = 1e9")
    await page.locator('tr[aria-rowindex="10001"]').waitFor()
    const filter = page.locator('#filter')
    await filter.fill('')
    await filter.fill('type:sync.failed')
    await expect.poll(() => rowsOf(page).count(), { interval: 5 }).toBe(10)
    expect(complaints).toEqual([])
  })

  it('keeps the filter and the open delivery in the URL', async () => {
    const crm = await start({ clock: 'manual' })
    for (const accountKey of ['acme', 'globex'])
      crm.webhooks.create({ url: 'http://localhost:9/hooks', events: ['contact.created'] }, { accountKey })
    crm.records.create('contact', { firstName: 'Zoë' })
    crm.records.create('contact', { firstName: 'Gus' }, { accountKey: 'globex' })
    const { page } = await open(crm)
    await page.locator('#filter').fill('body:gus')
    await expect.poll(() => countLine(page).innerText()).toBe('1 of 2 deliveries')
    await page.locator('#filter').fill('account:globex -type:contact.deleted nonsense:')
    await page.locator('#filter[aria-invalid=true]').waitFor()
    await page.locator('#filter').fill('account:globex -type:contact.deleted')
    await expect.poll(() => countLine(page).innerText()).toBe('1 of 2 deliveries')
    await rowsOf(page).first().click()
    await page.locator('.detail').getByText('globex').first().waitFor()
    const again = await context.newPage()
    await again.goto(page.url())
    await again.locator('.detail pre').getByText('Gus').waitFor()
    await expect.poll(() => countLine(again).innerText()).toBe('1 of 2 deliveries')
    await page.goBack()
    await expect.poll(() => page.locator('.detail').count()).toBe(0)
  })

  it('works under a name that is not a secure context: without locks and without a clipboard', async () => {
    const crm = await startWith(['contact.created'], answer(200, 'handled'), { hostAllow: ['crm.test'] })
    const url = crm.url.replace('127.0.0.1', 'crm.test')
    const [page, other] = [(await open({ url })).page, (await open({ url })).page]
    expect(await page.evaluate('isSecureContext')).toBe(false)
    crm.events.emit({ type: 'contact.created' })
    for (const tab of [page, other]) await expect.poll(() => rowsOf(tab).count()).toBe(1)
    await fetch(`${crm.url}/api/sales/contacts`)
    await page.bringToFront()
    await page.keyboard.press('j')
    await page.keyboard.press('c')
    expect(await page.getByRole('dialog').locator('textarea').inputValue()).toMatch(/^curl -gi 'http:/)
    await leave(page)
    await page.keyboard.press('2')
    await page.getByText('/api/sales/contacts').waitFor()
    expect(await page.getByRole('table', { name: 'API calls' }).locator('tbody tr').count()).toBe(1)
  })

  it('reports that the emulator has stopped, and continues with the next one', async () => {
    const first = await start()
    const port = Number(new URL(first.url).port)
    const url = `${await serve(answer(200, 'handled'))}/hooks`
    first.webhooks.create({ url, events: ['contact.created'] })
    first.events.emit({ type: 'contact.created' })
    const { page } = await open(first)
    await rowsOf(page).getByText('handled', { exact: true }).first().waitFor()
    await first.close()
    await page.locator('#link.reconnecting').waitFor()
    const second = await start({ port })
    await page.locator('#link.live').waitFor()
    second.webhooks.create({ url, events: ['contact.created'] })
    second.events.emit({ type: 'contact.created' })
    await page.getByText('1 delivery').waitFor()
    expect(await rowsOf(page).count()).toBe(1)
  })

  it('takes an event from failure to success by the keyboard alone', async () => {
    const receiver = reading((body, request, response) => {
      const isRight = body.includes('"email": "new@example.test"')
      answer(isRight ? 200 : 422, isRight ? 'handled' : 'invalid_record')(request, response)
    })
    const crm = await startWith(['contact.created'], receiver)
    const { page, complaints } = await open(crm)
    await page.keyboard.press('t')
    await page.locator('dialog textarea').getByText('').waitFor()
    await expect.poll(() => page.locator('dialog textarea').inputValue()).toContain('zoe@example.test')
    await page.keyboard.press('Control+Enter')
    await page.locator('.verdict').getByText('422 invalid_record').waitFor()
    expect(await page.locator('.verdict').innerText()).toContain('Edit the body and send it')
    const failed = await page.locator('.detail').getAttribute('data-id')
    await page.keyboard.press('e')
    const editor = page.locator('dialog textarea')
    await editor.waitFor()
    const body = (await editor.inputValue()).replace('zoe@', 'new@')
    expect(await page.evaluate('document.activeElement.tagName')).toBe('TEXTAREA')
    await page.keyboard.press('Control+A')
    await page.keyboard.insertText(body)
    await page.keyboard.press('Control+Enter')
    await page.locator('.verdict').getByText('200 handled').waitFor()
    const made = await page.locator('.detail').getAttribute('data-id')
    expect(made).not.toBe(failed)
    await page.locator('#attempts').getByRole('link', { name: 'sent', exact: true }).waitFor()
    const [one, other] = [failed, made].map((id) => crm.deliveries.get(id ?? ''))
    expect(other?.eventId).not.toBe(one?.eventId)
    expect(Buffer.from(other?.bytes ?? []).toString()).toBe(body.replace(one?.eventId ?? '', other?.eventId ?? ''))
    await page.keyboard.press('Escape')
    await expect.poll(() => page.locator('.detail').count()).toBe(0)
    await page.keyboard.press('?')
    await page.getByText('edit and send', { exact: true }).waitFor()
    expect(complaints).toEqual([])
  })

  it('has no violation that axe finds, on any screen, in both themes', async () => {
    const crm = await startWith(['contact.created', 'sync.failed'], answer(401, 'unauthorized'), { clock: 'manual' })
    crm.records.create('contact', { firstName: 'Zoë' })
    await crm.clock.advance('3h')
    crm.events.emit({ type: 'sync.failed' })
    await crm.clock.advance(0)
    await fetch(`${crm.url}/api/sales/contacts`, { headers: { authorization: `Bearer ${await crm.login()}` } })
    const [delivery] = crm.deliveries.list()
    const queries = ['', `?d=${delivery?.id}`, ...SCREENS]
    const violations: string[] = []
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await context.newPage()
      await page.emulateMedia({ colorScheme })
      const check = async (what: string) => {
        violations.push(...(await findViolations(page)).map((each) => `${colorScheme} ${what} ${each}`))
      }
      for (const query of queries) {
        await page.goto(`${crm.url}/_inspector${query}`)
        await page.locator('#link.live').waitFor()
        await check(query)
      }
      for (const key of ['t', '?']) {
        await page.keyboard.press(key)
        await page.locator('dialog').waitFor()
        await check(`key ${key}`)
        await leave(page)
      }
      await page.goto(`${crm.url}/_inspector?d=${delivery?.id}`)
      await page.locator('.verdict').waitFor()
      await page.keyboard.press('e')
      await page.locator('dialog textarea').waitFor()
      await check('edit')
      await page.close()
    }
    expect(violations).toEqual([])
  })

  it('reaches each action by a key, lists all keys, and keeps the chosen colours', async () => {
    const crm = await startWith(['sync.failed'], answer(500, 'handler_failed'), { clock: 'manual' })
    crm.records.create('contact', { firstName: 'Zoë' })
    crm.events.emit({ type: 'sync.failed' })
    await crm.clock.advance('3h')
    const { page } = await open(crm)
    const shown: string[] = []
    for (const query of ['', `?d=${crm.deliveries.list()[0]?.id}`, ...SCREENS]) {
      await page.goto(`${crm.url}/_inspector${query}`)
      await page.locator('#link.live').waitFor()
      expect(await page.evaluate(WITHOUT_TAB), query).toEqual([])
      const keys = page.locator('[data-hotkey]')
      shown.push(...(await keys.evaluateAll((all) => all.map((each) => each.dataset.hotkey ?? ''))))
    }
    await page.keyboard.press('?')
    await page.locator('dialog dt').first().waitFor()
    const listed = (await page.locator('dialog dt').allInnerTexts()).flatMap((names) => names.split(/\s+/))
    expect(shown.filter((key) => !listed.includes(key))).toEqual([])
    await leave(page)
    await page.getByRole('button', { name: 'Colours: system' }).click()
    await page.reload()
    await page.getByRole('button', { name: 'Colours: light' }).waitFor()
  })

  it('shows a webhook that fails, with its actions, whatever its URL is', async () => {
    const crm = await start({ clock: 'manual' })
    crm.webhooks.create({ url: `http://127.0.0.1:9/${'x'.repeat(900)}`, events: ['sync.failed'] })
    crm.events.emit({ type: 'sync.failed' })
    await crm.clock.advance('3h')
    const { page } = await open(crm, '?screen=webhooks')
    await page.setViewportSize({ width: 390, height: 800 })
    await page.locator('.health.failing').getByText('failing').waitFor()
    expect(await page.locator('tbody tr').innerText()).toMatch(/0 %\s+1 failed/)
    const { x = 0, width = 0 } = (await page.getByRole('button', { name: 'Delete…' }).boundingBox()) ?? {}
    expect([await widthOf(page), x + width <= 390]).toEqual([390, true])
  })

  it('names webhooks by their description, and shows whole causes and the start of a long body on a phone', async () => {
    const crm = await start({ clock: 'manual' })
    crm.webhooks.create({ url: 'http://127.0.0.1:9/hooks', events: ['sync.failed'] })
    const { page } = await open(crm, '?screen=webhooks')
    await page.setViewportSize({ width: 390, height: 800 })
    await page.getByRole('button', { name: 'Edit…' }).click()
    await page.getByLabel('Description').fill('Nightly sync')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Nightly sync' }).waitFor()
    crm.events.emit({ type: 'sync.failed', data: { lists: Array.from({ length: 40 }, (_, list) => list) } })
    await crm.clock.advance('3h')
    await page.goto(`${crm.url}/_inspector?by=cause`)
    const cause = page.getByRole('table', { name: 'Causes' }).locator('td').filter({ hasText: 'Nightly sync' })
    expect((await cause.boundingBox())?.width).toBeGreaterThan(350)
    await page.goto(`${crm.url}/_inspector?d=${crm.deliveries.list()[0]?.id}`)
    await page.locator('.title').getByText('Nightly sync · http://127.0.0.1:9/hooks').waitFor()
    await page.keyboard.press('e')
    expect(await page.locator('dialog textarea').evaluate(({ scrollTop }) => scrollTop)).toBe(0)
  })

  it('fits into 320 px', async () => {
    const crm = await start({ clock: 'manual' })
    const url = 'http://localhost:9/a-rather-long-path/of-a-receiver/hooks'
    crm.webhooks.create({ url, events: ['contact.created'] })
    crm.records.create('contact', { firstName: 'Z'.repeat(300) })
    await crm.clock.advance(0)
    const [delivery] = crm.deliveries.list()
    const { page } = await open(crm)
    await page.setViewportSize({ width: 320, height: 640 })
    for (const query of ['', `?d=${delivery?.id}`, ...SCREENS]) {
      await page.goto(`${crm.url}/_inspector${query}`)
      await page.locator('#link.live').waitFor()
      expect(await widthOf(page), query).toBe(320)
    }
  })

  it.each([20, 300])('shows the whole type in equal rows at any width, with %i deliveries', async (number) => {
    const crm = await start({ clock: 'manual', assume: { eventsWhilePaused: 'kept' } })
    const url = 'http://127.0.0.1:9/a-long-path/of/a/receiver/webhooks'
    const { id } = crm.webhooks.create({ url, events: ['finance.payment.completed'] })
    crm.events.emit({ type: 'finance.payment.completed' })
    await crm.clock.advance(0) // and now it has a countdown
    crm.webhooks.create({ url, events: ['finance.payment.completed'], active: false })
    crm.webhooks.update(id, { events: ['sync.completed'] })
    crm.events.emitMany({ type: 'finance.payment.completed' }, number)
    const { page } = await open(crm)
    for (const query of ['', `?d=${crm.deliveries.list()[0]?.id}`]) {
      await page.goto(`${crm.url}/_inspector${query}`)
      await rowsOf(page).first().waitFor()
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 1_000 })
        if (query !== '' && width <= 860) continue // the delivery hides the list
        expect(await page.evaluate(MEASURE), `${width} px ${query}`).toEqual(WHOLE)
      }
    }
  })

  it('keeps the row that is read in its place when a resize changes the height of the rows, and shows no empty list', async () => {
    const crm = await start({ assume: { eventsWhilePaused: 'kept' } })
    crm.webhooks.create({ url: 'http://localhost:9/hooks', events: ['sync.completed'], active: false })
    crm.events.emitMany({ type: 'sync.completed' }, 300)
    const { page } = await open(crm)
    await expect.poll(() => countLine(page).innerText()).toBe('300 deliveries')
    await page.evaluate("document.querySelector('.list .scroll').scrollTop = 1e9")
    await page.locator('tr[aria-rowindex="301"]').waitFor()
    const first = await page.evaluate(READ_FIRST)
    for (const width of [800, 1_280, 800, 1_280]) {
      await page.setViewportSize({ width, height: 800 })
      for (let frame = 0; frame < 3; frame++) expect(await page.evaluate(READ_FIRST)).toBe(first)
    }
  })
})

/** The index of the first row that is visible below the head of the list, as it was painted. */
const READ_FIRST = `new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => {
  const { bottom } = document.querySelector('.rows th').getBoundingClientRect()
  const rows = [...document.querySelectorAll('.rows .row')]
  resolve(rows.find((row) => row.getBoundingClientRect().bottom > bottom + 2)?.ariaRowIndex)
})))`

/** The controls that Tab does not reach. Rows of the list are reached by j and k. */
const WITHOUT_TAB = `[...document.querySelectorAll('button, a, input, select, textarea, summary')]
  .filter((each) => each.tabIndex < 0 && !each.closest('tbody')).map((each) => each.outerHTML)`
