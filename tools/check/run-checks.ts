import { showTarget } from '../wire/target.ts'
import type { Cause, Counting, Scene, Verdict } from './case.ts'
import { CASES, type GroupedCase } from './cases.ts'
import { startCounting } from './counting.ts'
import { diagnose, findPage } from './diagnose.ts'
import { type Finding, findLate, type Judged } from './find-late.ts'
import type { CheckResult } from './report.ts'
import { toCurl } from './repro.ts'
import type { RunScene } from './scene.ts'
import { createTurns, endAfter, type TakeTurn } from './turns.ts'
import { capAt, isHtml } from './verdict.ts'
import { judgeWork } from './work.ts'

/** Facts of a check that has ended, or was left out. */
export interface Conclusion extends Judged, Pick<CheckResult, 'ms'>, Partial<Pick<CheckResult, 'repro' | 'hint'>> {
  readonly single: GroupedCase
}

interface RunOptions {
  readonly cases: readonly GroupedCase[]
  readonly isSkipped: (single: GroupedCase) => boolean
  readonly concurrency: number
  readonly signal: AbortSignal | undefined
  readonly onChange: (running: ReadonlySet<string>, done: number) => void
}

/** The check on whose answer all others depend, and the one that only asks whether the receiver is alive. */
const [FIRST, LAST] = ['accepts-valid', 'alive-after-all']
/** Checks that are made after all others, and then the one after which a receiver may refuse everything. */
const FINAL = [['effect-once-at-end', LAST], ['effect-after-failures']]

const PROBE_FIX =
  'This says nothing about the receiver. The probe has to return { "runs": n } for any event id, and accept the order to fail; see "The probe" in the reference of the command line.'

/**
 * Runs the checks in their order, so many at the same time; one that is marked `alone` runs by itself. Waiting for work takes no turn: all
 * checks wait for it side by side.
 */
export async function runChecks(scene: RunScene, { cases, isSkipped, concurrency, signal, onChange }: RunOptions) {
  const found = new Map<string, Conclusion>()
  const running = new Set<string>()
  const takeTurn = createTurns(concurrency)
  const toScene = shareCounting(scene, takeTurn)
  let finding: Finding | undefined
  let endPlain = () => {}
  const isPlainJudged = new Promise<void>((resolve) => {
    endPlain = resolve
  })
  if (!cases.some(({ id }) => id === FIRST)) endPlain()

  const causeToLeaveOut = async (single: GroupedCase): Promise<Cause | undefined> => {
    if (isSkipped(single)) return 'not_asked'
    if (signal?.aborted === true) return 'interrupted'
    if (scene.isLost()) return 'unreachable'
    if (finding?.isAbsent === true) return 'absent'
    // The last check is the one that fails then.
    const closed = single.id === LAST ? undefined : await unlessInterrupted(findClosed(scene), signal)
    return closed ?? (finding !== undefined && single.group === 'effect' ? 'plain_refused' : undefined)
  }
  const judgePlain = async (verdict: Verdict, of: Scene): Promise<Verdict> => {
    const isFailed = verdict.status === 'fail'
    finding = await unlessInterrupted(isFailed ? diagnose(scene) : findPage(scene, verdict), signal)
    if (finding !== undefined && !isFailed) return { ...verdict, status: 'fail', cause: 'absent' }
    return isFailed || scene.probe === undefined ? verdict : judgeProbe(verdict, of, cases, isSkipped)
  }
  const followPlain: typeof judgePlain = (...given) => judgePlain(...given).finally(endPlain)
  const check = async (single: GroupedCase) => {
    const { id } = single
    if (single.group === 'effect') {
      await isPlainJudged
      if (finding === undefined && !isSkipped(single))
        await toScene()
          .counting()
          .types.catch(() => {})
    }
    // Checks of the work wait longest.
    const endTurn = await takeTurn(single.alone, single.group === 'effect' && single.alone !== true)
    onChange(running.add(id), found.size)
    const cause = await causeToLeaveOut(single)
    const conclusion =
      cause === undefined
        ? await carryOut(single, toScene(endTurn), signal, id === FIRST ? followPlain : undefined)
        : leaveOut(single, cause)
    if (id === FIRST) endPlain()
    found.set(id, conclusion)
    running.delete(id)
    onChange(running, found.size)
    endTurn()
  }
  await Promise.all(cases.filter(({ id }) => !FINAL.flat().includes(id)).map(check))
  scene.wake()
  for (const ids of FINAL) await Promise.all(cases.filter(({ id }) => ids.includes(id)).map(check))
  const asked = cases.flatMap(({ id }) => found.get(id) ?? [])
  const conclusions = await withPlain(scene, asked, (first) => carryOut(first, toScene(), signal, followPlain))
  const { counting } = toScene()
  finding ??= await unlessInterrupted(findLate({ ...scene, counting }, conclusions), signal)
  return { conclusions, finding }
}

/** Fails the check of a plain delivery if the probe fails or counts nothing, unless checks of the work report that. */
async function judgeProbe(
  verdict: Verdict,
  { counting, endTurn }: Scene,
  cases: readonly GroupedCase[],
  isSkipped: RunOptions['isSkipped'],
): Promise<Verdict> {
  const ofWork = cases.filter(({ group }) => group === 'effect')
  if (!ofWork.every(isSkipped)) {
    await counting().sent.catch(() => {})
    return verdict
  }
  endTurn()
  const isCounted = (await counting().types).length > 0 || ofWork.length > 0
  return isCounted ? verdict : { ...verdict, status: 'fail', cause: 'not_counted' }
}

/** Checks that read the URL only, or pass for any refusal. */
const isOfRefusals = ({ id, group }: Conclusion) => group === 'leak' || id === 'https'

/**
 * Returns the conclusions, and that of a plain delivery before them if all passed and none was accepted: a wrong path, or a receiver that
 * refuses everything, has then passed no check.
 */
async function withPlain(
  scene: RunScene,
  conclusions: readonly Conclusion[],
  carryOutFirst: (first: GroupedCase) => Promise<Conclusion>,
): Promise<readonly Conclusion[]> {
  const isPassed = ({ status }: Conclusion) => status === 'pass' || status === 'info'
  const isKnown = scene.acknowledged.size > 0 && !conclusions.some(({ answers }) => answers.some(isHtml))
  const first = CASES.find(({ id }) => id === FIRST)
  const isJudged = conclusions.some(({ id, status }) => id === FIRST || status === 'fail')
  if (first === undefined || isKnown || isJudged) return conclusions
  if (!conclusions.some((each) => isPassed(each) && !isOfRefusals(each))) return conclusions
  const plain = await carryOutFirst(first)
  if (plain.status !== 'fail') return conclusions
  const others = conclusions.map((each): Conclusion => {
    const isUndecided = isPassed(each) && each.id !== 'https'
    return isUndecided ? { ...each, status: 'skipped', cause: 'plain_refused' } : each
  })
  return [plain, ...others]
}

/** Returns why a receiver that accepted plain deliveries no longer does, if so. */
async function findClosed(scene: RunScene): Promise<Cause | undefined> {
  if (await scene.isHanging()) return 'hangs'
  return (await scene.isShut()) ? 'shut' : undefined
}

/** Returns a function that makes the scene of a check. All of them share one count, which the first that needs it starts, with or without a turn. */
function shareCounting(scene: RunScene, takeTurn: TakeTurn): (endTurn?: () => void) => Scene {
  let counting: Counting | undefined
  return (endTurn) => {
    const count = (): Counting =>
      scene.probe === undefined ? scene.counting() : startCounting({ ...inTurn, probe: scene.probe })
    const inTurn: Scene = { ...withTurns(scene, takeTurn, endTurn), counting: () => (counting ??= count()) }
    return inTurn
  }
}

/** Makes a scene whose deliveries take a turn each, once that of its check is over: nothing then disturbs a check that runs alone. */
function withTurns(scene: RunScene, takeTurn: TakeTurn, endTurn: (() => void) | undefined) {
  let isOver = endTurn === undefined
  const inTurn =
    (send: Scene['send']): Scene['send'] =>
    async (delivery) => {
      if (!isOver) return send(delivery)
      const end = await takeTurn(false, true)
      return endAfter(end, send(delivery))
    }
  return {
    ...scene,
    send: inTurn(scene.send),
    sendOnce: inTurn(scene.sendOnce),
    endTurn() {
      isOver = true
      endTurn?.()
    },
  }
}

/** Returns the result of a search by further deliveries; undefined if the run is interrupted. */
async function unlessInterrupted<T>(search: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  return search.catch((error: unknown) => {
    if (signal?.aborted !== true) throw error
    return undefined
  })
}

function leaveOut(single: GroupedCase, cause: Cause): Conclusion {
  return { single, id: single.id, group: single.group, status: 'skipped', answers: [], cause, ms: 0 }
}

async function carryOut(
  single: GroupedCase,
  scene: Scene,
  interrupt: AbortSignal | undefined,
  onVerdict = async (verdict: Verdict, _scene: Scene): Promise<Verdict> => verdict,
): Promise<Conclusion> {
  const started = performance.now()
  const conclude = (verdict: Verdict, more: Partial<Conclusion> = {}): Conclusion => {
    const ms = Math.round(performance.now() - started)
    return { single, id: single.id, group: single.group, ...verdict, ms, ...more }
  }
  try {
    const judge = async (found: Verdict) => {
      const verdict = await onVerdict(capAt(single.level, found), scene)
      scene.endTurn()
      // The last check judges only whether the receiver is alive: other checks judge its work.
      return single.group === 'effect' || single.id === LAST ? verdict : judgeWork(scene, verdict)
    }
    if ('run' in single) return conclude(await judge(await single.run(scene)))
    const delivery = single.deliver(scene.make)
    const verdict = await judge(single.judge(await scene.send(delivery)))
    const repro = toCurl(showTarget(scene.target), delivery)
    return conclude(verdict, repro === undefined ? {} : { repro })
  } catch (error) {
    if (interrupt?.aborted === true) return leaveOut(single, 'interrupted')
    // Only the user's probe can throw; then the result cannot be observed.
    const note = error instanceof Error ? error.message : String(error)
    return conclude({ status: 'fail', answers: [], cause: 'probe_failed', note }, { hint: PROBE_FIX })
  }
}
