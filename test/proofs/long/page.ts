/**
 * Leaves the inspector open for an hour at ten deliveries a second, with an inbox, and measures the memory of the page after a collection,
 * and of the emulator's process. MINUTES=5 makes it shorter. Measures first the work of the page's main thread with a long list.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium } from 'playwright-core'
import { startEmulator } from '../../../tools/emulator/emulator.ts'
import { CHROMIUM } from '../../inspector/support.ts'
import { report } from './figures.ts'

const MINUTES = Number(process.env.MINUTES ?? 60)
const A_SECOND = 10
/** The second and the last third are compared: the first fills the history. */
const GOAL = 1.15
const MIB = 1024 * 1024

const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{"code":"accepted"}'))
}).listen(0, '127.0.0.1')
await once(server, 'listening')

const nothing = { waiting: 0, running: 0, dead: 0, oldestDueAt: undefined }
const inbox = {
  counts: async () => nothing,
  list: async () => ({ entries: [], next: undefined }),
  get: async () => undefined,
  replay: async () => false,
  drop: async () => false,
}
const crm = await startEmulator({ inbox })
crm.webhooks.create({ url: `http://127.0.0.1:${Object(server.address()).port}/`, events: ['sync.completed'] })

const browser = await chromium.launch({
  executablePath: CHROMIUM ?? '',
  args: ['--no-sandbox', '--disable-background-networking', '--disable-gpu'],
})
const page = await browser.newPage()
await page.goto(`${crm.url}/_inspector`)
await page.locator('#link.live').waitFor()
const devtools = await page.context().newCDPSession(page)

async function measure(): Promise<{ readonly page: number; readonly emulator: number }> {
  await devtools.send('HeapProfiler.collectGarbage')
  const { usedSize } = await devtools.send('Runtime.getHeapUsage')
  globalThis.gc?.()
  return { page: usedSize / MIB, emulator: process.memoryUsage().heapUsed / MIB }
}

/** Measures the main thread's share of a processor in a minute of 20 deliveries a second, with 9,000 in the list. */
async function measureThread(): Promise<void> {
  for (let n = 0; n < 9; n++) crm.events.emitMany({ type: 'sync.completed' }, 1_000)
  await crm.deliveries.whenIdle()
  await page.getByText('9,000 deliveries').waitFor()
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
  const readSeconds = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics')
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN
  }
  const before = await readSeconds()
  const timer = setInterval(() => crm.events.emit({ type: 'sync.completed' }), 1_000 / 20)
  await sleep(60_000)
  clearInterval(timer)
  const percent = (100 * ((await readSeconds()) - before)) / 60
  report({
    name: 'main thread of the page at 20 deliveries a second, with 9,000 in the list',
    measured: `${percent.toFixed(1)} % of a processor`,
    goal: 'at most 10 %',
    isMet: percent <= 10,
  })
}
await measureThread()

const emitting = setInterval(() => crm.events.emit({ type: 'sync.completed' }), 1_000 / A_SECOND)
const samples: Awaited<ReturnType<typeof measure>>[] = []
const STEPS = 60
for (let step = 1; step <= STEPS; step++) {
  await sleep((MINUTES * 60_000) / STEPS)
  const sample = await measure()
  samples.push(sample)
  if (step % 6 === 0)
    console.log(
      `${((MINUTES * step) / STEPS).toFixed(1).padStart(5)} min   page ${sample.page.toFixed(1)} MiB   emulator ${sample.emulator.toFixed(1)} MiB`,
    )
}
clearInterval(emitting)

for (const name of ['page', 'emulator'] as const) {
  const most = (from: number, to: number) => Math.max(...samples.slice(from, to).map((sample) => sample[name]))
  const [before, after] = [most(STEPS / 3, (2 * STEPS) / 3), most((2 * STEPS) / 3, STEPS)]
  report({
    name: `memory of the ${name} over ${MINUTES} min at ${A_SECOND} deliveries a second`,
    measured: `${before.toFixed(1)} MiB at most in the second third, ${after.toFixed(1)} MiB in the last`,
    goal: `at most ${GOAL} times`,
    isMet: after <= GOAL * before,
  })
}
await browser.close()
await crm.close()
server.close()
