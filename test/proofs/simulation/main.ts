/**
 * `npm run simulate`: the receiver on a simulated clock, with simulated processes, networks, engines and senders. One seed is one run,
 * which is always the same. README.md explains the output.
 */
import { runBatch } from './batch.ts'
import { loadSubject } from './bundle.ts'
import { describePlan } from './describe-plan.ts'
import { HELP, readTask, type Task } from './options.ts'
import type { Plan } from './plan.ts'
import { PLANTED_FAULTS } from './planted-faults.ts'
import { RARE_STATES } from './rare-states.ts'
import { search } from './search.ts'
import { shrink } from './shrink.ts'
import { type Report, simulate } from './simulate.ts'
import type { Subject } from './subject.ts'
import { add, noTotals, showTotals } from './totals.ts'
import { drawIn } from './worlds.ts'

const PROGRESS_MS = 5_000
const SHOWN_FAILURES = 20
/** So many runs must visit every rare state. */
const MANY_RUNS = 5_000

async function main(): Promise<number> {
  let task: Task
  try {
    task = readTask(process.argv.slice(2))
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`)
    return 2
  }
  switch (task.do) {
    case 'help':
      console.log(HELP)
      return 0
    case 'find faults':
      return findFaults(task)
    case 'run one':
      return runOne(task)
    case 'run many':
      return runMany(task)
  }
}

type OneRun = Omit<Extract<Task, { readonly do: 'run one' }>, 'do'>

async function runOne(task: OneRun): Promise<number> {
  const { world, seed, isTraced, isShrunk, fault } = task
  const subject = await loadSubject(fault)
  const startedAt = performance.now()
  const whole = drawIn(world, seed)
  const report = await simulate(whole, subject, isTraced && !isShrunk)
  if (report.violations.length === 0) {
    print(whole, report, startedAt)
    return 0
  }
  const shortest = await shrink(whole, (plan) => failsAlike(plan, subject, report))
  if (isShrunk) print(shortest, await simulate(shortest, subject, isTraced), startedAt)
  else {
    print(whole, report, startedAt)
    console.log('\nThe shortest run that fails alike:')
    for (const line of describePlan(shortest)) console.log(`  ${line}`)
  }
  const command = toCommand(task)
  console.log(`\nTo repeat it:  ${command} --trace\nThe shortest:  ${command} --shrunk --trace`)
  return 1
}

async function failsAlike(plan: Plan, subject: Subject, { violations: [first] }: Report): Promise<boolean> {
  const { violations } = await simulate(plan, subject)
  return violations.some(({ rule }) => rule === first?.rule)
}

function print(plan: Plan, { trace, violations, figures }: Report, startedAt: number): void {
  for (const line of describePlan(plan)) console.log(line)
  if (trace.length > 0) console.log(`\n${trace.join('\n')}`)
  const totals = noTotals()
  add(totals, figures)
  console.log()
  for (const line of showTotals(totals, (performance.now() - startedAt) / 1_000, violations.length > 0 ? 1 : 0))
    console.log(line)
  for (const { rule, message } of violations) console.log(`VIOLATION  ${rule}: ${message}`)
}

async function findFaults({ from, count, fault }: Extract<Task, { readonly do: 'find faults' }>): Promise<number> {
  let missed = 0
  for (const planted of PLANTED_FAULTS) {
    if (fault !== undefined && planted.name !== fault) continue
    // The rare ones are found by few seeds only, one of which is known.
    const found = (await search(planted, from, count)) ?? (await search(planted, planted.from, 1))
    if (found === undefined) missed++
    const where =
      found === undefined
        ? `NOT FOUND in ${count} runs`
        : `seed ${found.seed}, after ${found.runs} runs: ${found.violation.rule}`
    console.log(`${planted.name.padEnd(34)} ${where}`)
  }
  return missed === 0 ? 0 : 1
}

async function runMany(task: Extract<Task, { readonly do: 'run many' }>): Promise<number> {
  const { world, fault } = task
  const startedAt = performance.now()
  let toldAt = startedAt
  const { totals, failures } = await runBatch(task, (done) => {
    if (performance.now() < toldAt + PROGRESS_MS) return
    toldAt = performance.now()
    console.error(`${done} of ${task.count} runs`)
  })
  const seconds = (performance.now() - startedAt) / 1_000
  for (const line of showTotals(totals, seconds, failures.length)) console.log(line)
  for (const { seed, violation } of failures.slice(0, SHOWN_FAILURES))
    console.log(`VIOLATION  ${violation}\n           ${toCommand({ ...task, seed })} --trace`)
  if (failures.length > SHOWN_FAILURES) console.log(`           and ${failures.length - SHOWN_FAILURES} more`)
  const unvisited = RARE_STATES[world].filter((state) => totals.states[state] === undefined)
  if (unvisited.length > 0 && task.count >= MANY_RUNS)
    console.log(`VIOLATION  no run visited: ${unvisited.join(', ')}. Change what the seeds draw until some do.`)
  const [first] = failures
  if (first === undefined) return unvisited.length > 0 && task.count >= MANY_RUNS ? 1 : 0
  console.log(`\nSeed ${first.seed}, shrunk:`)
  return runOne({ world, seed: first.seed, isTraced: true, isShrunk: true, fault })
}

function toCommand({ world, seed, fault }: Pick<OneRun, 'world' | 'seed' | 'fault'>): string {
  const inbox = world === 'inbox' ? ' --inbox' : ''
  return `npm run simulate --${inbox} --seed ${seed}${fault === undefined ? '' : ` --fault ${fault}`}`
}

// A reader may close the pipe after the beginning of a trace.
process.stdout.on('error', () => process.exit(0))
process.exitCode = await main()
