import type { Page } from 'playwright-core'
import { createReceiver, DeadLetter } from 'postern'
import type { Emulator } from 'postern/emulator'
import { nodeHandler } from 'postern/node'
import { silentLogger } from 'postern/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Scene, SECRET, until } from '../inbox/scene.ts'
import { answer, beginEach, CHROMIUM, open, reading, rowsOf, serve, start, startWith } from './support.ts'

// What an event came to and why, and to try it again.

const TOKEN = 'a-token-of-postern-dev'

describe.skipIf(CHROMIUM === undefined)('the outcome of an event in the inspector', () => {
  beginEach()

  const verdict = (page: Page) => page.locator('.verdict')
  const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })

  /** An emulator with a receiver that has an inbox, and whose handler fails until `repair` is called. */
  async function startScene(): Promise<{ crm: Emulator; scene: Scene; repair: () => void }> {
    let secret = SECRET
    let isBroken = true
    const scene = new Scene({ secret: () => secret })
    scene.receiver
      .on('contact.created', () => {})
      .on('contact.updated', { name: 'audit' }, ({ data }) => {
        if (isBroken) throw new DeadLetter(`Mailchimp answered 502 for ${data.record._id}`)
      })
    scene.work()
    const url = await serve(nodeHandler(scene.receiver))
    const crm = await start({ inbox: scene.inbox })
    secret = crm.webhooks.create({ url, events: ['contact.created', 'contact.updated', 'contact.deleted'] }).secret
    return { crm, scene, repair: () => (isBroken = false) }
  }

  const update = (crm: Emulator, _id: string) => crm.events.emit({ type: 'contact.updated', data: { record: { _id } } })

  it('joins delivery and inbox, from the first paint on, and tries a dead letter again by one key', async () => {
    const { crm, scene, repair } = await startScene()
    crm.records.create('contact', { firstName: 'Zoë' })
    crm.events.emit({ type: 'contact.deleted' })
    update(crm, 'rec1316')
    await until('it is dead', () => scene.dead.length === 1)
    const { page, complaints } = await open(crm)
    await rowsOf(page).first().waitFor()
    expect(await page.locator('.row .outcome').allInnerTexts()).toEqual(['✕ dead', '– ignored', '✓ handled'])
    await button(page, 'Dead 1').waitFor()
    await page.getByRole('link', { name: 'Inbox 1' }).waitFor()
    await page.keyboard.press('2')
    await page.getByRole('table', { name: 'Inbox' }).getByText('dead', { exact: true }).waitFor()
    await page.keyboard.press('3')
    expect(await page.locator('.health').innerText()).toBe('✕ failing')
    expect(await page.getByRole('table', { name: 'Webhooks' }).innerText()).toMatch(/66 %\s+1 dead/)
    await page.getByRole('link', { name: 'DeadLetter: Mailchimp answered 502 for rec1316' }).click()
    await verdict(page)
      .getByText('✕ dead · DeadLetter: Mailchimp answered 502 for rec1316 · handler audit · after 1 try')
      .waitFor()
    // The menu lies over the page, and moves no button beside it.
    const before = await button(page, 'Drop…').boundingBox()
    await page.getByText('More', { exact: true }).click()
    await button(page, 'Send a copy').waitFor()
    expect(await button(page, 'Drop…').boundingBox()).toEqual(before)
    const reason = page.locator('.row .why', { hasText: 'DeadLetter: Mailchimp answered 502 for rec1316' })
    expect(
      await reason.evaluate((each) =>
        [each.closest('small'), each.closest('td')].some(
          (box) => box !== null && each.getBoundingClientRect().right > box.getBoundingClientRect().right,
        ),
      ),
    ).toBe(false)
    repair()
    await page.keyboard.press('r')
    await verdict(page).getByText('handled', { exact: true }).waitFor()
    await button(page, 'Dead 0').waitFor()
    expect(await button(page, 'Try again').count()).toBe(0)
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([])
  })

  it('shows the error and the stack of a handler without an inbox, and repairs it by one click', async () => {
    vi.stubEnv('POSTERN_DEV', TOKEN)
    onTestFinished(() => void vi.unstubAllEnvs())
    let isBroken = true
    let secret = 'unknown'
    const receiver = createReceiver({ secret: () => secret, logger: silentLogger })
    receiver.on('contact.created', { name: 'welcome' }, () => {
      if (isBroken) throw new TypeError('<b>no address</b>', { cause: new Error('ECONNREFUSED') })
    })
    const crm = await start({ devToken: TOKEN })
    secret = crm.webhooks.create({ url: await serve(nodeHandler(receiver)), events: ['contact.created'] }).secret
    crm.events.emit({ type: 'contact.created' })
    const { page, complaints } = await open(crm)
    await page.locator('.why').getByText('TypeError: <b>no address</b>').waitFor()
    await rowsOf(page).click()
    await verdict(page).getByText('TypeError: <b>no address</b> · handler welcome · 500 handler_failed').waitFor()
    const stack = await page.locator('.stack').innerText()
    expect(stack).toMatch(/^TypeError: <b>no address<\/b>\n {4}at .*outcome\.test[\s\S]*Caused by: Error: ECONNREFUSED/)
    expect(stack).not.toContain('Mount the receiver')
    isBroken = false
    await button(page, 'Try again').click()
    await verdict(page).getByText('200 handled').waitFor()
    expect(crm.deliveries.list().map(({ attempts }) => attempts.length)).toEqual([2])
    expect(complaints).toEqual([])
  })

  it('reads that a failed delivery was handled by a copy, and counts it no longer', async () => {
    const receiver = reading((body, request, response) => {
      const isRight = body.includes('repaired')
      answer(isRight ? 200 : 500, isRight ? 'handled' : 'handler_failed')(request, response)
    })
    const crm = await startWith(['contact.created'], receiver, { clock: 'manual' })
    crm.records.create('contact', { firstName: 'broken' })
    await crm.clock.advance('3h')
    const { page } = await open(crm)
    await button(page, /^Failed 1/).waitFor()
    await rowsOf(page).click()
    await verdict(page).waitFor()
    await page.getByText('More').click()
    await button(page, 'Send a copy').click()
    await verdict(page).getByText('a copy, sent by hand').waitFor()
    await crm.clock.advance(0)
    await button(page, /^Failed 2/).waitFor()
    await page.keyboard.press('e')
    const editor = page.getByRole('dialog').locator('textarea')
    await editor.fill((await editor.inputValue()).replace('broken', 'repaired'))
    await page.keyboard.press('Control+Enter')
    await page.locator('dialog').waitFor({ state: 'detached' })
    await crm.clock.advance(0)
    await button(page, /^Failed 0/).waitFor()
    await page.keyboard.press('Escape')
    // A copy of a copy repairs both.
    await expect
      .poll(() => page.locator('.row .outcome').allInnerTexts())
      .toEqual(['✓ handled', ...Array(2).fill('– failed, then handled by a copy')])
    await page.keyboard.press('2')
    await page.locator('.health').getByText('healthy').waitFor()
  })

  it('separates causes by type and exact error, and names one set by count, link and button', async () => {
    const errors = ['502 for "a, b"', '502 for "a, b" and c', '503', '502 for "a, b"']
    const receiver = reading((body, _request, response) => {
      const at = Number(/"at": (\d)/.exec(String(body))?.[1])
      response.writeHead(500).end(`${errors[at]}\nsecond line ${Math.random()}`)
    })
    const crm = await startWith(['sync.failed', 'sync.completed', 'export.completed'], receiver, { clock: 'manual' })
    for (let at = 0; at < 3; at++) for (let n = 0; n <= at; n++) crm.events.emit({ type: 'sync.failed', data: { at } })
    crm.events.emit({ type: 'sync.completed', data: { at: 3 } })
    await crm.clock.advance('3h')
    const { page } = await open(crm, '?by=cause&q=webhook:/hooks')
    const lines = page.getByRole('table', { name: 'Causes' }).locator('tbody tr')
    await expect.poll(() => lines.count()).toBe(4)
    for (let line = 0; line < 4; line++) {
      await page.goto(`${crm.url}/_inspector?by=cause&q=webhook:/hooks`)
      const [, count = '', label = ''] = /\t(\d+) (Try again.*)/.exec(await lines.nth(line).innerText()) ?? []
      expect(label).toBe(count === '1' ? 'Try again' : `Try again ${count}…`)
      await lines.nth(line).getByRole('button', { name: label, exact: true }).waitFor()
      await lines.nth(line).getByRole('link').click()
      await expect.poll(() => rowsOf(page).count()).toBe(Number(count))
    }
    expect(await page.getByRole('searchbox').inputValue()).toMatch(/^webhook:\/hooks cause:"sync\.\w+ · 500 502 for/)
  })

  it('says the error that the receiver reports, guesses at none beside it, and folds the frames of libraries', async () => {
    const stack =
      '\n    at own (app.ts:1:2)\n    at zod (/app/node_modules/zod/index.js:1:2)\n    at node:internal/process:3:4'
    const error = { handlers: [], text: `email: no address${stack}` }
    const crm = await startWith(['sync.failed'], (_request, response) => {
      response.writeHead(422).end(JSON.stringify({ code: 'invalid_record', error }))
    })
    crm.events.emit({ type: 'sync.failed' })
    const { page } = await open(crm, '?by=cause')
    const cause = page.getByRole('table', { name: 'Causes' })
    await cause.getByText('email: no address').waitFor()
    expect(await cause.innerText()).not.toContain('log')
    await page.keyboard.press('g')
    await rowsOf(page).click()
    await verdict(page).getByText('422 invalid_record').waitFor()
    expect(await page.locator('.stack').innerText()).toBe(
      'email: no address\n    at own (app.ts:1:2)\n… 2 frames of libraries',
    )
    await page.getByText('2 frames of libraries').click()
    await page.locator('.stack').getByText('at zod (/app/node_modules/').waitFor()
  })

  it('makes the next attempt of a delivery that waits for it', async () => {
    let status = 500
    const receiver = (...args: Parameters<ReturnType<typeof answer>>) => answer(status, 'any')(...args)
    const crm = await startWith(['sync.failed'], receiver)
    crm.events.emit({ type: 'sync.failed' })
    const { page } = await open(crm)
    await rowsOf(page).getByText('next try').waitFor()
    for (const key of ['f', 'g']) await page.keyboard.press(key)
    await page.getByText('Nothing has failed for good').waitFor()
    await page.keyboard.press('g')
    await button(page, 'Show 1 retrying').click()
    await rowsOf(page).getByText('next try').waitFor()
    await button(page, 'All').click()
    status = 200
    await page.keyboard.press('j')
    await page.keyboard.press('r')
    await rowsOf(page).getByText('delivered').waitFor()
    await page.keyboard.press('r')
    await page.getByRole('status').getByText('nothing has failed: it is delivered').waitFor()
  })
})
