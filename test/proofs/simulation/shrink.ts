import type { Plan, SettingsPlan } from './plan.ts'

/** Runs that a search for a shorter plan may take. */
const MOST_RUNS = 1_500

const PLAIN_SETTINGS: SettingsPlan = {
  leaseMs: 15_000,
  deadlineMs: 8_000,
  handlerTimeoutMs: 60_000,
  retentionMs: 604_800_000,
  maxInFlight: 1_000,
  memoryMax: 500,
  latencyMs: 1,
  timersFirst: false,
  schema: 'none',
  interceptor: 'none',
  isOwnerClumsy: false,
}

/** Removes everything from a plan that it can lose and still fail, until nothing is left to remove. */
export async function shrink(plan: Plan, isFailing: (plan: Plan) => Promise<boolean>): Promise<Plan> {
  let best = plan
  let runs = 0
  const accept = async (candidate: Plan) => {
    if (++runs > MOST_RUNS || !(await isFailing(candidate))) return false
    best = candidate
    return true
  }
  for (let before: Plan | undefined; before !== best && runs <= MOST_RUNS; ) {
    before = best
    for (const path of [['faults'], ['events'], ['intruders'], ['handlers'], ['inbox', 'acts']])
      await shorten(path, () => best, accept)
    for (const place of best.events.keys())
      for (const part of ['duplicatesAfterMs', 'lostAnswers', 'troubles'])
        await shorten(['events', place, part], () => best, accept)
    for (const simplify of simplifications(best)) await accept(simplify(best))
  }
  return best
}

type Accept = (candidate: Plan) => Promise<boolean>

/** Delta debugging: removes halves of a list, then quarters, and finally single elements. */
async function shorten(path: readonly (string | number)[], read: () => Plan, accept: Accept): Promise<void> {
  const listOf = (plan: Plan): unknown[] => path.reduce((part, key) => Object(part)[key], plan as unknown) as unknown[]
  for (let size = Math.ceil((listOf(read())?.length ?? 0) / 2); size > 0; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < listOf(read()).length; ) {
      const shorter = structuredClone(read())
      listOf(shorter).splice(start, size)
      if (!(await accept(shorter))) start += size
    }
  }
}

/** Ways to simplify a plan, without those that change nothing. */
function simplifications(plan: Plan): readonly ((plan: Plan) => Plan)[] {
  const ways: ((plan: Plan) => Plan)[] = []
  if (plan.clockSkewsMs.some((skew) => skew !== 0))
    ways.push((now) => ({ ...now, clockSkewsMs: now.clockSkewsMs.map(() => 0) }))
  if (plan.secrets.form !== 'one' || plan.secrets.isAsync)
    ways.push((now) => ({ ...now, secrets: { form: 'one', isAsync: false, rotatesAt: undefined } }))
  for (const [setting, value] of Object.entries(PLAIN_SETTINGS))
    if (Reflect.get(plan.settings, setting) !== value)
      ways.push((now) => ({ ...now, settings: { ...now.settings, [setting]: value } }))
  return ways
}
