import { once } from 'node:events'
import { connect, createServer as createTunnel, type Socket } from 'node:net'
import type { Page } from 'playwright-core'
import { DeadLetter, RetryLater } from 'postern'
import { startEmulator } from 'postern/emulator'
import { nodeHandler } from 'postern/node'
import { events, silentLogger } from 'postern/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { escapeHidden } from '../../tools/wire/hidden.ts'
import { type RunningCli, startCli } from '../cli/run-cli.ts'
import { Scene, SECRET, until } from '../inbox/scene.ts'
import {
  beginEach,
  CHROMIUM,
  context,
  findViolations,
  leave,
  open,
  openAt,
  rowsOf,
  serve,
  start,
  widthOf,
} from './support.ts'

// The inbox in the page: a real receiver with its worker on SQLite, joined with the emulator's deliveries, and alone.

const TOKEN = { POSTERN_INBOX_TOKEN: 'a-token-that-a-second-server-takes-too' }
const HOSTILE = '<img src=x onerror="document.title=1">\u202e'

describe.skipIf(CHROMIUM === undefined)('the inbox in the inspector', () => {
  beginEach()

  const linksOf = (page: Page) => page.locator('.rows a[data-key]')
  const deadOf = (page: Page) => page.locator('.rows a[data-key$=evt_dead]')
  const toast = (page: Page, text: string) => page.getByRole('status').filter({ hasText: text }).waitFor()
  const health = (page: Page) => page.getByRole('table', { name: 'Webhooks' })
  const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).click()

  /** An inbox with a dead letter, one item that waits for its second try, and one that is running. */
  async function fill(): Promise<Scene> {
    const scene = new Scene()
    let goOn = () => {}
    onTestFinished(() => goOn())
    scene.receiver
      .on('contact.created', { name: 'save' }, () => {})
      .on('contact.created', { name: 'bill' }, () => {
        throw new DeadLetter(`no such customer ${HOSTILE}`)
      })
      .on('contact.updated', () => {
        throw new RetryLater(3_600_000)
      })
      .on('contact.deleted', () => new Promise<void>((resolve) => (goOn = resolve)))
    await scene.deliver(events.contact.created({}, { id: 'evt_dead' }))
    await scene.deliver(events.contact.updated({}, { id: 'evt_waits' }))
    await scene.deliver(events.contact.deleted('c1', { id: 'evt_runs' }))
    scene.work()
    await until('each is in its state', async () => {
      const { waiting, running, dead } = await scene.inbox.counts()
      return waiting === 1 && running === 1 && dead === 1
    })
    return scene
  }

  /** Runs `postern inbox serve` for the inbox. */
  async function serveInbox({ path }: Scene, ...args: readonly string[]): Promise<{ cli: RunningCli; url: string }> {
    const cli = startCli(['inbox', 'serve', '--sqlite', path, '--port', '0', ...args], { env: TOKEN })
    onTestFinished(async () => {
      cli.interrupt()
      await cli.exitCode
    })
    await cli.until(/^page +http/m)
    return { cli, url: /http:\/\/\S+/.exec(cli.stderr)?.[0] ?? '' }
  }

  it('shows a row whose times are damaged, and the others', async () => {
    const scene = await fill()
    await scene.deliver(events.contact.updated({}, { id: 'evt_damaged' }))
    await until('both have failed', async () => {
      const { entries } = await scene.inbox.list('waiting', { limit: 10 })
      return entries.filter(({ tries }) => tries.length === 1).length === 2
    })
    scene.database.exec(`UPDATE postern_inbox SET due_at = 9007199254740991, since = 9007199254740991,
      received_at = 9007199254740990 WHERE id = 'evt_damaged'`)
    const { page, complaints } = await openAt((await serveInbox(scene)).url)
    await press(page, /^Retrying 2/)
    await expect.poll(() => linksOf(page).count()).toBe(2)
    await page.locator('.rows a[data-key$=evt_damaged]').click()
    await expect.poll(() => page.locator('.facts').innerText()).toMatch(/received\s+unknown/)
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([])
  })

  it('shows alone dead, waiting and running events, replays and drops them, by the keyboard too', async () => {
    const scene = await fill()
    const { cli, url } = await serveInbox(scene, '--write')
    const { page, complaints } = await openAt(url)
    expect(page.url()).not.toContain('token')
    await press(page, /^Dead 1/)
    await expect.poll(() => linksOf(page).count()).toBe(1)
    expect(await rowsOf(page).innerText()).toMatch(
      /^✕ dead\s+(?:now|\d+ s ago)\s+contact.created\s+evt_dead\s+acme\s+dead_letter DeadLetter: no such customer[\s\S]*1$/,
    )
    await page.keyboard.press('j')
    await page.locator('tr:focus-within').waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('finished handlers').waitFor()
    expect(await page.locator('.facts').innerText()).toMatch(/finished handlers\s+save/)
    expect(await page.locator('.tries').innerText()).toContain(`no such customer ${escapeHidden(HOSTILE)}`)
    expect(await page.locator('.parts img').count()).toBe(0)
    expect(await page.getByText('"evt_dead"').count()).toBe(0)
    await press(page, 'Show the body')
    await page.getByText('"evt_dead"').waitFor()
    await page.keyboard.press('r')
    await toast(page, 'tried again')
    await until('it died again', () => scene.dead.length === 2)
    await expect.poll(() => page.locator('.tries li').count()).toBe(2)
    await deadOf(page).waitFor() // the list may be older than the detail
    await page.keyboard.press('Escape')
    await expect.poll(() => page.evaluate('document.activeElement.dataset.key')).toContain('evt_dead')

    await press(page, /^Pending 1/)
    await linksOf(page).click()
    await page.locator('.verdict').getByText('working', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Drop…' }).count()).toBe(0)
    await press(page, /^Retrying 1/)
    await linksOf(page).click()
    await page
      .locator('.verdict')
      .getByText(/next try in (59 min|60 min|1 h)/)
      .waitFor()
    await page.keyboard.press('r')
    await expect.poll(() => page.locator('.tries li').count()).toBe(2)
    await page
      .locator('.verdict')
      .getByText(/next try in (59 min|60 min|1 h)/)
      .waitFor()
    await press(page, 'Drop…')
    await page.getByRole('button', { name: 'Drop', exact: true }).click()
    await toast(page, 'dropped')
    expect((await scene.inbox.counts()).waiting).toBe(0)
    await page.getByText('0 of 2 match this filter').waitFor()
    expect(cli.stderr).toMatch(/Z {2}replay {2}\S+evt_dead\n.*Z {2}drop {2}\S+evt_waits\n/s)
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([])
  })

  it('says how a try ended: that the event failed again, or left the inbox', async () => {
    const scene = new Scene()
    let isBroken = true
    scene.receiver.on('contact.created', () => {
      if (isBroken) throw new DeadLetter('no such customer')
    })
    await scene.deliver(events.contact.created({}, { id: 'evt_dead' }))
    scene.work()
    await until('it is dead', () => scene.dead.length === 1)
    const { page } = await openAt((await serveInbox(scene, '--write')).url)
    await deadOf(page).click()
    await page.keyboard.press('r')
    await toast(page, '✕ tried again: failed again')
    isBroken = false
    await page.keyboard.press('r')
    await toast(page, 'tried again: left the inbox, handled or dropped')
  })

  it('treats a double click as one, and keeps the focus on the question', async () => {
    const scene = await fill()
    const { url } = await serveInbox(scene, '--write')
    const { page } = await openAt(url)
    await deadOf(page).click()
    const named = (name: string) => page.getByRole('button', { name, exact: true })
    await named('Drop…').focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Cancel')
    await leave(page)
    await expect.poll(() => page.evaluate('document.activeElement.textContent.slice(0, 9)')).toBe('Drop…')
    await named('Drop…').dblclick()
    await page.getByText('It is deleted for good').waitFor()
    await named('Drop').dblclick()
    await toast(page, 'dropped')
    await page.getByText('the inbox has no such event').waitFor()
    expect(await page.getByRole('status').filter({ hasText: 'the event is running' }).count()).toBe(0)
  })

  it('keeps the type of an event that was dropped, and a way back', async () => {
    const { url } = await serveInbox(await fill(), '--write')
    const { page } = await openAt(url)
    await deadOf(page).click()
    await press(page, 'Drop…')
    const dialog = page.getByRole('dialog', { name: 'Drop the event?' })
    await dialog.getByText('contact.created · evt_dead. It is deleted for good').waitFor()
    await dialog.getByRole('button', { name: 'Drop', exact: true }).click()
    await page.getByText('the inbox has no such event').waitFor()
    await page.getByRole('heading', { name: 'contact.created' }).waitFor()
    await press(page, 'Back to the list')
    await expect.poll(() => linksOf(page).count()).toBe(2)
  })

  it('has a filter of its own, which does not follow to the deliveries', async () => {
    const crm = await start({ inbox: (await fill()).inbox })
    crm.webhooks.create({ url: 'http://localhost:9/hooks', events: ['sync.failed'] })
    crm.events.emit({ type: 'sync.failed' })
    const { page } = await open(crm, '?q=type:sync.failed')
    await page.getByRole('link', { name: /^Inbox/ }).click()
    await deadOf(page).waitFor()
    await page.goto(`${crm.url}/_inspector?screen=inbox&q=type:contact.created`)
    await deadOf(page).waitFor()
    await page.getByRole('link', { name: /^Deliveries/ }).click()
    await expect.poll(() => page.locator('.rows tbody tr.row').count()).toBe(1)
    expect(await page.getByRole('searchbox').inputValue()).toBe('')
    await page.goBack()
    await deadOf(page).waitFor()
  })

  it('tries again all that match: those that the filter, the link of a cause, the button and the count name', async () => {
    const scene = new Scene()
    let isBroken = true
    scene.receiver.on('*', ({ type, id }) => {
      if (isBroken) throw new DeadLetter(type === 'sync.failed' ? `no "list" ${id === 'evt_3' ? 8 : 7}` : 'broken')
    })
    for (let n = 0; n < 3; n++) await scene.deliver(events.contact.created({}, { id: `evt_${n}` }))
    for (let n = 3; n < 63; n++) await scene.deliver(events.syncFailed({}, { id: `evt_${n}`, accountKey: 'acme' }))
    scene.work()
    await until('all are dead', () => scene.dead.length === 63)
    const { page } = await openAt((await serveInbox(scene, '--write')).url)
    const filter = page.getByRole('searchbox')
    await filter.fill('type:contact.created')
    await expect.poll(() => linksOf(page).count()).toBe(3)
    await page.getByRole('button', { name: 'Try all 3 again…' }).waitFor()
    await filter.fill('')
    await page.keyboard.press('Escape')
    await page.keyboard.press('g')
    await page.getByRole('button', { name: 'Try again 60…' }).waitFor()
    await page.getByRole('link', { name: 'sync.failed · DeadLetter: no "list" 7' }).click()
    await page.getByRole('button', { name: 'Try all 60 again…' }).waitFor()
    await page.keyboard.press('R')
    await page.getByRole('dialog', { name: 'Try 60 events again' }).getByLabel('Per second').fill('500')
    await page.keyboard.press('Control+Enter')
    await page.getByText('60 of 60').waitFor()
    await leave(page)
    await until('all died again', () => scene.dead.length === 123)
    await page.getByRole('button', { name: 'Dead 60' }).waitFor()
    await linksOf(page).first().click()
    await expect.poll(() => page.title()).toBe('sync.failed · Inbox · Postern')
    isBroken = false
    await page.keyboard.press('Escape')
    await page.keyboard.press('R')
    await page.getByRole('dialog').getByLabel('Per second').fill('500')
    await page.keyboard.press('Control+Enter')
    await page.getByText('60 of 60').waitFor()
    await leave(page)
    await page.getByText('0 of 3 match this filter').waitFor()
  })

  it('is read-only unless it was started to write, and says so', async () => {
    const { url } = await serveInbox(await fill())
    const { page } = await openAt(url)
    await page.getByText('Read-only').waitFor()
    expect(await page.getByRole('checkbox').count()).toBe(0)
    await deadOf(page).click()
    await page.getByText('finished handlers').waitFor()
    expect(await page.getByRole('button', { name: /again|Drop/ }).count()).toBe(0)
    await page.keyboard.press('r')
    await toast(page, 'the inbox is read-only')
  })

  it('says that its server is gone, and continues when it is back', async () => {
    const scene = await fill()
    const first = await serveInbox(scene)
    const port = new URL(first.url).port
    const { page } = await openAt(first.url)
    first.cli.interrupt()
    await first.cli.exitCode
    await page.getByText('stopped: postern inbox serve does not answer').waitFor()
    await serveInbox(scene, '--port', port)
    await page.locator('#link.live').waitFor()
    await deadOf(page).waitFor()
  })

  it('says that nobody answers if a tunnel to it falls silent', async () => {
    const { url } = await serveInbox(await fill())
    const ends: Socket[] = []
    const tunnel = createTunnel((near) => {
      const far = connect(Number(new URL(url).port), '127.0.0.1')
      near.pipe(far).pipe(near)
      ends.push(near, far)
      for (const end of [near, far]) end.on('error', () => {})
    }).listen(0, '127.0.0.1')
    await once(tunnel, 'listening')
    onTestFinished(() => {
      for (const end of ends) end.destroy()
      tunnel.close()
    })
    await context.addInitScript(() => {
      const { timeout } = AbortSignal
      AbortSignal.timeout = (ms) => timeout.call(AbortSignal, ms / 10)
    })
    const { page } = await openAt(url.replace(/127\.0\.0\.1:\d+/, `localhost:${Object(tunnel.address()).port}`))
    await deadOf(page).waitFor()
    tunnel.on('connection', (near) => near.unpipe().pause())
    for (const end of ends) end.unpipe().pause()
    await page.getByText('stopped: postern inbox serve does not answer').waitFor()
  })

  it('shows no inbox any more if the emulator was started again without one', async () => {
    const crm = await start({ inbox: (await fill()).inbox })
    const { page } = await open(crm, '?screen=inbox')
    await deadOf(page).waitFor()
    await crm.close()
    await start({ port: Number(new URL(crm.url).port) })
    await page.getByText('The emulator has no inbox').waitFor()
    expect(await linksOf(page).count()).toBe(0)
  })

  it('joins deliveries with their outcomes in the inbox', async () => {
    const scene = new Scene({ name: 'crm', secret: () => secret })
    let secret = SECRET
    let isBroken = true
    scene.receiver.on('import.completed', () => {
      if (isBroken) throw new DeadLetter('no such list')
    })
    scene.work()
    const url = await serve(nodeHandler(scene.receiver))
    const crm = await start({ inbox: scene.inbox })
    secret = crm.webhooks.create({ url, events: ['import.completed'] }).secret
    crm.events.emit({ type: 'import.completed' })
    const { page, complaints } = await open(crm)
    const row = page.locator('.rows tbody tr.row')
    await row.getByText('200 accepted').waitFor()
    await row.getByText('dead', { exact: true }).waitFor()
    await row.click()
    const section = page.getByRole('region', { name: 'Tries in the inbox' })
    await section.getByText('DeadLetter: no such list').waitFor()
    isBroken = false
    await page.getByText('✕ dead · DeadLetter: no such list · handler import.completed · after 1 try').waitFor()
    await page.locator('.verdict').getByRole('button', { name: 'Try again' }).click()
    await page.locator('.verdict').getByText('handled', { exact: true }).waitFor()
    await section.getByText('DeadLetter: no such list').waitFor() // what was seen of it stays
    await page.keyboard.press('2')
    await page.getByText('The inbox is empty').waitFor()
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([])
  })

  it('asks for a worker of an event that none takes, says nothing of tries once it is handled, and calls no webhook healthy meanwhile', async () => {
    let secret = SECRET
    const scene = new Scene({ secret: () => secret })
    scene.receiver.on('import.completed', () => {})
    const crm = await start({ inbox: scene.inbox })
    secret = crm.webhooks.create({ url: await serve(nodeHandler(scene.receiver)), events: ['import.completed'] }).secret
    crm.events.emit({ type: 'import.completed' })
    const { page } = await open(crm, '?screen=inbox')
    await linksOf(page).click()
    await page.getByText('No worker has tried it yet.').waitFor()
    await page.locator('.verdict').getByText('Is a worker running?').waitFor() // after some seconds
    await page.locator('.hint-line').getByText('Is a worker running?').waitFor()
    await page.keyboard.press('1')
    await rowsOf(page).locator('.why').getByText('no worker has taken it. Is a worker running?').waitFor()
    await rowsOf(page).click()
    await page.getByText('No worker has tried it yet.').waitFor()
    await page.keyboard.press('3')
    await health(page).getByText('1 event is due. Is a worker running?').waitFor()
    expect(await health(page).innerText()).toMatch(/… waiting.*\n.*–\s+1 pending/s)
    await page.goBack()
    await page.getByText('No worker has tried it yet.').waitFor()
    scene.work()
    await page.locator('.verdict').getByText('handled', { exact: true }).waitFor()
    await page.getByRole('region', { name: 'Tries in the inbox' }).getByText('received').waitFor()
    expect(await page.getByText('No worker has tried it yet.').count()).toBe(0)
    await page.keyboard.press('3')
    await health(page).getByText('100 %').waitFor()
    await health(page).getByText('healthy').waitFor()
  })

  it('counts an event that has left the inbox unhandled neither as handled nor as failed', async () => {
    let secret = SECRET
    const scene = new Scene({ secret: () => secret })
    scene.receiver.on('contact.created', () => {
      throw new RetryLater(3_600_000)
    })
    scene.work()
    const crm = await start({ inbox: scene.inbox })
    secret = crm.webhooks.create({ url: await serve(nodeHandler(scene.receiver)), events: ['contact.created'] }).secret
    crm.events.emit({ type: 'contact.created' })
    const { page } = await open(crm)
    await rowsOf(page).getByText('next try').waitFor()
    const { entries } = await scene.inbox.list('waiting')
    expect(await scene.inbox.drop(entries[0]?.key ?? '')).toBe(true)
    await rowsOf(page).getByText('It was dropped, or replayed elsewhere.').waitFor()
    await page.keyboard.press('3')
    await health(page).getByText('unknown').waitFor()
    expect(await health(page).innerText()).not.toContain('%')
  })

  it('has no such screen without an inbox, and reports the fault of one that is not there', async () => {
    const { page } = await open(await start())
    expect(await page.getByRole('link', { name: 'Inbox' }).count()).toBe(0)
    const away = async () => Promise.reject(new Error(`/no/such/file ${HOSTILE}`))
    const crm = await startEmulator({
      logger: silentLogger,
      inbox: { counts: away, list: away, get: away, replay: away, drop: away },
    })
    onTestFinished(() => crm.close())
    const other = await open(crm, '?screen=inbox')
    await other.page.getByText('The inbox cannot be read').first().waitFor()
    await other.page.getByText(`/no/such/file ${HOSTILE}`).waitFor()
  })

  it('has no violation that axe finds, in both themes, and fits 320 px', async () => {
    const scene = await fill()
    const { url } = await serveInbox(scene, '--write')
    const { page } = await openAt(url)
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme })
      for (const view of ['', '?by=cause', '?q=status:retrying', '?d=7:default4:acme8:evt_dead']) {
        await page.goto(new URL(`/_inspector${view}`, url).href)
        await page.locator('main tbody a').first().waitFor()
        if (view.includes('d=')) await page.locator('.facts').waitFor()
        expect(await findViolations(page), `${scheme} ${view}`).toEqual([])
      }
    }
    await page.setViewportSize({ width: 320, height: 640 })
    for (const view of ['', '?d=7:default4:acme8:evt_dead']) {
      await page.goto(new URL(`/_inspector${view}`, url).href)
      await page.getByText('contact.created').locator('visible=true').first().waitFor()
      expect(await widthOf(page), view).toBe(320)
    }
  })
})
