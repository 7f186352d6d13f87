import type { Cluster } from './cluster.ts'
import type { FaultPlan, Plan } from './plan.ts'
import { Chance } from './random.ts'
import type { World } from './world.ts'

/** A fault that waits for the nth step of a process, or for its nth call, waits for this long at the most. */
const ARMED_MS = 60_000
const CALL_ARMED_MS = 600_000
/** The effects of a fault end within this time: late answers, repeated calls. */
const AFTERMATH_MS = 120_000

/** Returns when the last fault is over, with all its effects. */
export function endOfFaults({ faults }: Plan): number {
  return Math.max(0, ...faults.map((fault) => fault.at + durationOf(fault) + ARMED_MS + AFTERMATH_MS))
}

function durationOf(fault: FaultPlan): number {
  switch (fault.kind) {
    case 'kill':
      return fault.downMs
    case 'close':
      return fault.timeoutMs + fault.downMs
    case 'deploy':
      return 60_000
    case 'clock jump':
    case 'evict':
      return 0
    case 'call':
      return CALL_ARMED_MS
    default:
      return fault.ms
  }
}

/** Plans the faults of a run. */
export function bringFaults(world: World, cluster: Cluster): void {
  for (const fault of world.plan.faults) world.scheduler.at(fault.at, () => bring(world, cluster, fault))
}

function bring(world: World, cluster: Cluster, fault: FaultPlan): void {
  const { weather } = world
  switch (fault.kind) {
    case 'kill':
      return atStep(world, cluster, fault, () => cluster.kill(fault.process, fault.downMs))
    case 'stall':
      return atStep(world, cluster, fault, () => {
        world.meet('stall')
        cluster.at(fault.process)?.stall(fault.ms)
      })
    case 'close':
      world.meet('close')
      return cluster.close(fault)
    case 'clock jump':
      return cluster.at(fault.process)?.jumpClockAtNextBody(fault.byMs, () => world.meet('clock jump'))
    case 'deploy':
      world.meet('deploy')
      world.say(
        'deploy',
        () => `other code: ${fault.handlers.map(({ pattern, name }) => `${name ?? '-'} on ${pattern}`).join(', ')}`,
      )
      return cluster.deploy(fault.handlers, fault.isGraceful)
    case 'call': {
      const disarm = weather.arm(fault, () => world.meet('call'))
      world.scheduler.after(CALL_ARMED_MS, disarm)
      return
    }
    case 'network':
      world.meet('network')
      world.say('network', () => `is bad for p${fault.process + 1} for ${fault.ms} ms`)
      return weather.begin(fault)
    case 'secrets':
      world.meet('secrets')
      world.secrets.trouble = fault.how
      world.scheduler.after(fault.ms, () => {
        world.secrets.trouble = undefined
      })
      return
    case 'lose':
      strikeEngine(world, { ...fault, kind: 'restart' })
      return lose(world, fault)
    case 'evict':
      return evict(world, fault)
    default:
      return strikeEngine(world, fault)
  }
}

function strikeEngine(
  world: World,
  { kind, ms }: Extract<FaultPlan, { readonly kind: 'freeze' | 'restart' | 'refuse' }>,
): void {
  const { host, history, now } = world
  world.meet(kind)
  world.say('engine', () => `${kind}, for ${ms} ms`)
  history.disturb(undefined, ms)
  if (kind === 'freeze') host.frozenUntil = Math.max(host.frozenUntil, now + ms)
  else if (kind === 'refuse') host.refusesUntil = Math.max(host.refusesUntil, now + ms)
  else {
    host.downUntil = Math.max(host.downUntil, now + ms)
    host.starts++
  }
}

function lose(world: World, { lostMs }: Extract<FaultPlan, { readonly kind: 'lose' }>): void {
  const { host, history, ledger, now } = world
  world.meet('lose')
  world.say('engine', () => `loses the last ${lostMs} ms`)
  const since = now - lostMs
  host.engine.rewind(since)
  for (const event of ledger.rewind(since)) history.losses.push({ event, since, at: now })
}

function evict(world: World, { seed, share }: Extract<FaultPlan, { readonly kind: 'evict' }>): void {
  const { host, history, ledger, now } = world
  world.meet('evict')
  const isMeant = (key: string) => new Chance(seed, key).happens(share)
  host.engine.evict(isMeant)
  const events = ledger.evict(isMeant)
  world.say('engine', () => `drops the keys of the events ${[...events].map(({ number }) => number).join(', ')}`)
  for (const event of events) history.losses.push({ event, since: now, at: now })
  history.positionsDroppedAt = now
}

/** Runs an action now, or at the nth step of the process from now on. */
function atStep(
  world: World,
  cluster: Cluster,
  { process, step }: Extract<FaultPlan, { readonly kind: 'kill' | 'stall' }>,
  action: () => void,
): void {
  if (step === undefined) return action()
  const disarm = cluster.at(process)?.atStep(step, action)
  if (disarm !== undefined) world.scheduler.after(ARMED_MS, disarm)
}
