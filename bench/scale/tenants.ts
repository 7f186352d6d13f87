import { type Clock, createReceiver, memoryStore, type Outcome, sign } from 'postern'
import { ATTEMPT_DELAYS_MS } from '../../src/protocol/schedule.ts'
import { Chance } from '../../test/proofs/simulation/random.ts'
import { Scheduler } from '../../test/proofs/simulation/scheduler.ts'
import { print, quantile } from '../harness.ts'

const TENANTS = 10_000
const HANDLER_MS = 50
const MAX_IN_FLIGHT = 100
/** The events a second that one receiver can handle with these settings. */
const CAPACITY = (MAX_IN_FLIGHT * 1_000) / HANDLER_MS

interface Scenario {
  readonly name: string
  /** The load of all tenants, as a share of the capacity. */
  readonly load: number
  /** The additional load of the largest tenant, as a share of the capacity. */
  readonly flood?: number
  /** The time that the handlers of the largest tenant take. */
  readonly largestMs?: number
}

const SCENARIOS: readonly Scenario[] = [
  { name: 'half of the capacity', load: 0.5 },
  { name: 'nine tenths', load: 0.9 },
  { name: 'twice the capacity', load: 2 },
  { name: 'half, and three times the capacity by the largest', load: 0.5, flood: 3 },
  { name: 'half, and handlers of the largest take 5 s', load: 0.5, largestMs: 5_000 },
]

/** Tenants by their share of the load. */
const GROUPS = [
  { name: 'largest', from: 0, to: 1 },
  { name: 'next 99', from: 1, to: 100 },
  { name: 'other 9,900', from: 100, to: TENANTS },
]

interface Delivery {
  readonly tenant: number
  attempts: number
  readonly sentAt: number
  acknowledgedAt?: number
}

/** Simulates a receiver between a sender that keeps the schedule and 10,000 tenants. The nth tenant sends 1/n of the first one's events. */
export async function benchTenants(isQuick: boolean): Promise<void> {
  const seconds = isQuick ? 5 : 60
  const rows = [
    ['load', 'tenants', 'events', 'at once, %', 'by 30 s, %', 'in the end, %', 'p99 until then', 'attempts'],
  ]
  for (const scenario of SCENARIOS) {
    const deliveries = await play(scenario, seconds)
    for (const { name, from, to } of GROUPS) {
      const group = deliveries.filter(({ tenant }) => tenant >= from && tenant < to)
      const share = (isIn: (delivery: Delivery) => boolean) =>
        ((group.filter(isIn).length / group.length) * 100).toFixed(2)
      const delays = group.map(({ acknowledgedAt = Number.POSITIVE_INFINITY, sentAt }) => acknowledgedAt - sentAt)
      rows.push([
        name === 'largest' ? scenario.name : '',
        name,
        group.length.toLocaleString('en'),
        share(({ attempts, acknowledgedAt }) => attempts === 1 && acknowledgedAt !== undefined),
        share(({ acknowledgedAt = Number.POSITIVE_INFINITY, sentAt }) => acknowledgedAt - sentAt < 31_000),
        share(({ acknowledgedAt }) => acknowledgedAt !== undefined),
        toSeconds(quantile(delays, 0.99)),
        (group.reduce((sum, { attempts }) => sum + attempts, 0) / group.length).toFixed(2),
      ])
    }
  }
  print(
    `10,000 tenants, one receiver with maxInFlight ${MAX_IN_FLIGHT} and handlers of ${HANDLER_MS} ms (${CAPACITY.toLocaleString('en')} events/s), ${seconds} s of load in simulated time`,
    rows,
  )
}

async function play(
  { load, flood = 0, largestMs = HANDLER_MS }: Scenario,
  seconds: number,
): Promise<readonly Delivery[]> {
  const scheduler = new Scheduler()
  const clock: Clock = {
    now: () => Date.UTC(2025, 0, 1) + scheduler.now,
    monotonic: () => scheduler.now,
    setTimeout: (callback, ms) => scheduler.after(ms, callback),
    clearTimeout: (step) => Object.assign(step as object, { action: undefined }), // setTimeout above returned it
  }
  const secret = 'whsec_scale'
  const receiver = createReceiver({
    secret: ({ claimedAccountKey: accountKey }) => (accountKey === undefined ? undefined : { secret, accountKey }),
    store: memoryStore({ clock }),
    maxInFlight: MAX_IN_FLIGHT,
    clock,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  })
  const wait = (ms: number) => new Promise<void>((resolve) => void scheduler.after(ms, resolve))
  receiver.on('*', ({ accountKey }) => wait(accountKey === 'tenant-0' ? largestMs : HANDLER_MS))

  const deliveries: Delivery[] = []
  const chance = new Chance(1, 'tenants')
  const pick = pickTenant()
  const send = async (tenant: number) => {
    const delivery: Delivery = { tenant, attempts: 0, sentAt: scheduler.now }
    const body = Buffer.from(
      JSON.stringify({
        id: `evt_${deliveries.push(delivery)}`,
        type: 'contact.created',
        timestamp: '2025-01-01T00:00:00.000Z',
        accountKey: `tenant-${tenant}`,
        data: { record: { _id: '1' } },
      }),
    )
    const signature = sign(body, secret)
    for (const delayMs of ATTEMPT_DELAYS_MS) {
      if (delayMs > 0) await wait(delayMs)
      delivery.attempts++
      const outcome: Outcome = await receiver.receive({ body, signature })
      if (outcome.status >= 300) continue
      delivery.acknowledgedAt = scheduler.now
      return
    }
  }
  const begin = (perSecond: number, toTenant: () => number) => {
    const arrive = () => {
      if (scheduler.now >= seconds * 1_000) return
      void send(toTenant())
      scheduler.after((-Math.log(1 - chance.number()) * 1_000) / perSecond, arrive)
    }
    if (perSecond > 0) arrive()
  }
  begin(load * CAPACITY, () => pick(chance.number()))
  begin(flood * CAPACITY, () => 0)
  await scheduler.run(Number.POSITIVE_INFINITY)
  return deliveries
}

function toSeconds(ms: number): string {
  return Number.isFinite(ms) ? `${(ms / 1_000).toFixed(1)} s` : 'never'
}

/** Returns the tenant for a number from 0 to 1: the nth gets 1/n of the first one's share. */
function pickTenant(): (number: number) => number {
  const sums: number[] = []
  let sum = 0
  for (let rank = 1; rank <= TENANTS; rank++) {
    sum += 1 / rank
    sums.push(sum)
  }
  return (number) => {
    let [low, high] = [0, TENANTS - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((sums[middle] ?? 0) < number * sum) low = middle + 1
      else high = middle
    }
    return low
  }
}
