import type { ServerResponse } from 'node:http'
import type { Page } from 'playwright-core'
import { RetryLater } from 'postern'
import { events, silentLogger } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { Scene, until } from '../inbox/scene.ts'
import { answer, beginEach, CHROMIUM, open, reading, rowsOf, serve, start, startWith } from './support.ts'

// Why an event failed, and whether it is still to be tried again.

describe.skipIf(CHROMIUM === undefined)('the need to try again, in the inspector', () => {
  beginEach()

  const verdict = (page: Page) => page.locator('.verdict')
  const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true })
  const isPrimary = (page: Page) => button(page, 'Trigger').evaluate((each) => each.classList.contains('main'))

  it('says that an attempt runs, and that a refusal was asked for, which is no failure', async () => {
    const held: ServerResponse[] = []
    const receiver = reading((_body, request, response) => {
      if (request.headers['x-service-signature'] === undefined) answer(401, 'unauthorized')(request, response)
      else held.push(response)
    })
    const crm = await startWith(['sync.failed'], receiver, { deadline: '10m' })
    crm.events.emit({ type: 'sync.failed' })
    const { page } = await open(crm)
    await rowsOf(page).getByText('sending').waitFor()
    await expect.poll(() => held.length).toBe(1)
    held.pop()?.writeHead(500).end()
    await rowsOf(page).getByText('next try').waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('r')
    await rowsOf(page).getByText('sending').waitFor()
    await page.keyboard.press('Enter')
    await page
      .getByRole('table', { name: 'Attempts' })
      .getByRole('row', { name: 'Attempt 2' })
      .getByText('sending')
      .waitFor()
    await expect.poll(() => held.length).toBe(1)
    expect(await isPrimary(page)).toBe(false)
    held.pop()?.writeHead(200).end()
    await verdict(page).getByText('delivered').waitFor()
    const { id } = crm.deliveries.resend(crm.deliveries.list()[0]?.id ?? '', { sign: 'none' })
    await page.goto(`${crm.url}/_inspector?d=${id}`)
    await verdict(page).getByText('refused, as asked').waitFor()
    await button(page, /^Failed 0/).waitFor()
    expect(await isPrimary(page)).toBe(true)
  })

  it('sends an event that was ignored again by the same key, as a copy', async () => {
    let code = 'ignored'
    const crm = await startWith(['sync.failed'], (...args) => answer(200, code)(...args))
    crm.events.emit({ type: 'sync.failed' })
    const { page } = await open(crm)
    await rowsOf(page).click()
    await verdict(page).getByText('ignored', { exact: true }).waitFor()
    const [bar, good] = (await page.evaluate(
      `['border-left-color', '--good'].map((name) => getComputedStyle(document.querySelector('.verdict')).getPropertyValue(name))`,
    )) as string[] // as the page computes
    expect(bar).not.toBe(good)
    code = 'handled'
    await page.keyboard.press('r')
    await page.getByRole('status').getByText('sent again as a copy').waitFor()
    await verdict(page).getByText('handled', { exact: true }).waitFor()
    expect(crm.deliveries.list()).toHaveLength(2)
  })

  it('groups messages that differ by an id, tries one again without a dialog, and says what failed again', async () => {
    const broken = new Set(['rec1', 'rec2', 'rec3'])
    const receiver = reading((body, _request, response) => {
      const [id = ''] = /rec\d/.exec(String(body)) ?? []
      const message = id === 'rec3' ? 'no connection' : `record ${id} not found`
      if (!broken.has(id)) response.end()
      else response.writeHead(500).end(JSON.stringify({ statusCode: 500, error: 'Internal Server Error', message }))
    })
    const crm = await startWith(['sync.failed'], receiver, { clock: 'manual', retryScale: 60_000 })
    for (const id of broken) crm.events.emit({ type: 'sync.failed', data: { id } })
    await crm.clock.advance('1m')
    const { page } = await open(crm, '?by=cause&q=type:sync.failed')
    const causes = page.getByRole('table', { name: 'Causes' })
    await causes.getByRole('link', { name: 'sync.failed · 500 record rec2 not found' }).waitFor()
    expect(await causes.innerText()).not.toContain('in its log')
    expect(await causes.getByRole('row').count()).toBe(3)
    broken.delete('rec3')
    await button(page, 'Try again').click()
    await page.getByRole('status').getByText('tried again').waitFor()
    await crm.clock.advance(0)
    await expect.poll(() => causes.getByRole('row').count()).toBe(2)
    broken.delete('rec1')
    await button(page, 'Try again 2…').click()
    const dialog = page.getByRole('dialog', { name: 'Try 2 deliveries again' })
    await dialog.getByRole('button', { name: 'Try again 2' }).click()
    await dialog.getByText('2 of 2').waitFor()
    await dialog.getByRole('progressbar').waitFor({ state: 'detached' })
    await crm.clock.advance(0)
    await dialog.getByText('2 of 2: 1 handled, 1 failed again').waitFor()
    await dialog.getByRole('link', { name: 'Show what failed' }).click()
    await dialog.waitFor({ state: 'detached' })
    await causes.getByRole('link', { name: 'sync.failed · 500 record rec2 not found' }).click()
    await rowsOf(page).click()
    await verdict(page).getByText('✕ failed · record rec2 not found · 500').waitFor()
    expect(await verdict(page).innerText()).not.toContain('in its log')
    await page.goto(`${crm.url}/_inspector?q=type:contact.created`)
    await page.getByText('0 of 3 match this filter').waitFor()
    expect(await isPrimary(page)).toBe(false)
  })

  it('does not take an event for handled that was accepted into an inbox which is not shown, and says which one is', async () => {
    const place = ['--sqlite', '/data/mistyped.db']
    const body = JSON.stringify({ code: 'accepted', inbox: { name: 'default', place } })
    const receiver = reading((_body, _request, response) => response.end(body))
    const shown = new Scene()
    const crm = await startWith(['sync.failed'], receiver, { inbox: shown.inbox, logger: silentLogger })
    crm.webhooks.create({ url: await serve((_request, response) => response.end('OK')), events: ['sync.completed'] })
    const { page } = await open(crm)
    crm.events.emit({ type: 'sync.failed' })
    await page.getByRole('status').getByText('the app accepts events into the inbox sqlite:/data/mistyped.db').waitFor()
    expect(await page.getByRole('status').innerText()).toContain(`the inbox shown is sqlite:${shown.path}`)
    crm.events.emit({ type: 'sync.completed' })
    await expect.poll(() => page.locator('.row .outcome').allInnerTexts()).toEqual(['✓ delivered', '… in an inbox'])
    await rowsOf(page).getByText('start with --inbox sqlite:/data/mistyped.db').waitFor()
    await rowsOf(page).last().click()
    await verdict(page).getByText('start with --inbox sqlite:/data/mistyped.db').waitFor()
    // The narrow list beside it cuts neither the outcome nor a reason of usual length.
    expect(
      await page
        .locator('.row td:first-child')
        .evaluateAll((all) => all.filter((cell) => cell.scrollWidth > cell.clientWidth).length),
    ).toBe(0)
    await page.keyboard.press('3')
    const webhooks = page.getByRole('table', { name: 'Webhooks' })
    await webhooks.getByText('unknown').waitFor()
    await webhooks.getByText('healthy').waitFor()
  })

  it('says that a delivery which is tried again was handled by a copy, does not count it, and stops its schedule', async () => {
    let status = 500
    const crm = await startWith(['sync.failed'], (...args) => answer(status, 'handled')(...args), { clock: 'manual' })
    crm.events.emit({ type: 'sync.failed' })
    await crm.clock.advance(0)
    status = 200
    crm.deliveries.resend(crm.deliveries.list()[0]?.id ?? '')
    await crm.clock.advance(0)
    const { page } = await open(crm)
    await button(page, /^Retrying 0/).waitFor()
    await rowsOf(page).getByText('handled by a copy, next try in 30 s').click()
    await button(page, 'Stop the retries').click()
    await page.getByRole('status').getByText('no further attempt is made').waitFor()
    await verdict(page).getByText('failed, then handled by a copy').waitFor()
    await crm.clock.advance('3h')
    expect(crm.deliveries.list().map(({ attempts }) => attempts.length)).toEqual([1, 1])
    await page.keyboard.press('2')
    await page.locator('.health').getByText('healthy').waitFor()
  })

  it('says why an event of the inbox was put off', async () => {
    const scene = new Scene()
    scene.receiver.on('contact.created', () => {
      throw new RetryLater(3_600_000, 'the quota is used up')
    })
    await scene.deliver(events.contact.created({}, { id: 'evt_1' }))
    scene.work()
    await until('it was tried', async () => (await scene.inbox.list('waiting')).entries[0]?.tries.length === 1)
    const { page } = await open(await start({ inbox: scene.inbox }), '?screen=inbox')
    await rowsOf(page).getByText('RetryLater: the quota is used up').waitFor()
    await rowsOf(page).click()
    await verdict(page).getByText('RetryLater').waitFor()
  })
})
