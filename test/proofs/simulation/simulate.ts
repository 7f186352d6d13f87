import { Cluster } from './cluster.ts'
import { bringFaults, endOfFaults } from './faults.ts'
import type { Violation } from './findings.ts'
import { bringActs } from './inbox/acts.ts'
import { sendIntruders } from './intruders.ts'
import { judgeEnd } from './judge-end.ts'
import { describeThrown } from './odd-values.ts'
import type { FaultKind, Plan } from './plan.ts'
import type { Visits } from './rare-states.ts'
import { Sender } from './sender.ts'
import type { Subject } from './subject.ts'
import { MOST_STEPS, World } from './world.ts'

/** The result of one run. */
export interface Report {
  readonly violations: readonly Violation[]
  readonly figures: Figures
  /** Empty unless a trace was requested. */
  readonly trace: readonly string[]
}

export interface Figures {
  readonly runs: number
  readonly events: number
  readonly deliveries: number
  readonly handlerRuns: number
  /** Runs of handlers that had succeeded before, which a fault explains. */
  readonly repeatedRuns: number
  readonly steps: number
  readonly simulatedMs: number
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>
  readonly states: Visits
}

/** Runs a plan from its beginning to its end, and judges it. One run at a time: it listens to the rejections of the whole process. */
export async function simulate(plan: Plan, subject: Subject, isTraced = false): Promise<Report> {
  const world = new World(plan, subject, isTraced)
  const rejections = listenForRejections(world)
  const random = Math.random
  Math.random = () => world.random()
  try {
    await live(world)
  } catch (error) {
    world.findings.add('threw', describeThrown(error))
  } finally {
    rejections.stop()
    Math.random = random
  }
  const { history, scheduler, findings, trace, faultsMet, visits } = world
  const figures = {
    runs: 1,
    events: plan.events.length,
    deliveries: history.deliveries.length,
    handlerRuns: history.runs.length,
    repeatedRuns: history.countRepeated(),
    steps: scheduler.taken,
    simulatedMs: scheduler.now,
    faults: faultsMet,
    states: visits,
  }
  return { violations: findings.all, figures, trace: trace.lines }
}

async function live(world: World): Promise<void> {
  const cluster = new Cluster(world)
  const sender = new Sender(world, cluster, endOfFaults(world.plan))
  sendIntruders(world, cluster)
  bringFaults(world, cluster)
  if (world.inbox !== undefined) bringActs(world, world.inbox, cluster)
  const isAtRest = await world.scheduler.run(MOST_STEPS)
  if (isAtRest) await closeAll(world, cluster)
  else world.findings.add('never at rest', `after ${MOST_STEPS} steps something still goes on`)
  judgeEnd(world, cluster, sender, isAtRest)
}

/** Closes every living process, in which nothing may be under way any more. */
async function closeAll({ scheduler, findings }: World, { lives }: Cluster): Promise<void> {
  for (const life of lives) {
    if (!life.isAlive) continue
    let isClosed = false
    life.post(0, () => {
      life.receiver?.close({ timeoutMs: 0 }).then(({ unfinished }) => {
        isClosed = true
        if (unfinished > 0)
          findings.add('unfinished', `${life.name} still has ${unfinished} events under way at the end`)
      })
    })
    await scheduler.run(Number.POSITIVE_INFINITY)
    if (!isClosed) findings.add('close late', `close() of ${life.name} does not resolve at the end`)
    if (life.keptAwake > 0) findings.add('unfinished', `the host of ${life.name} is kept awake at the end`)
    if (life.timersLeft > 0) findings.add('timer left', `${life.name} has ${life.timersLeft} timers left at the end`)
  }
}

/** Listens for unhandled rejections, instead of all other listeners, such as the test runner's. */
function listenForRejections({ findings }: World): { readonly stop: () => void } {
  const others = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', (reason) => {
    findings.add('unhandled rejection', describeThrown(reason))
  })
  return {
    stop: () => {
      process.removeAllListeners('unhandledRejection')
      for (const listener of others) process.on('unhandledRejection', listener)
    },
  }
}
