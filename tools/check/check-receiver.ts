import { isUtf8 } from 'node:buffer'
import { LONGEST_TIMER_MS } from '../../src/host/clock.ts'
import { SIGNATURE_HEADER } from '../../src/protocol/head.ts'
import { isLoopback } from '../../src/protocol/loopback.ts'
import { findNearest } from '../../src/protocol/nearest.ts'
import {
  ABSOLUTE_URL,
  ANY,
  FILLED_TEXT,
  FLAG,
  FUNCTION,
  type Kind,
  number,
  OptionChecker,
  SIGNAL,
  TEXTS,
  withMethods,
} from '../../src/protocol/option-checker.ts'
import { ATTEMPT_DELAYS_MS, SERVICE_DEADLINE_MS } from '../../src/protocol/schedule.ts'
import { quoteForShell, show } from '../../src/protocol/show.ts'
import { importSecret, type Secret } from '../../src/protocol/signature.ts'
import { SIGNATURE_NAME } from '../../src/protocol/signature-name.ts'
import { showTarget } from '../wire/target.ts'
import { type Cause, GROUPS, type Scene, type TestDelivery, type Verdict } from './case.ts'
import { CASES, type GroupedCase, nameHeader } from './cases.ts'
import { createHangTest, diagnose, type Finding, findLate, type Judged, toDiagnosis } from './diagnose.ts'
import { type Probe, withCounts } from './probe.ts'
import { type CheckResult, type Report, summarize } from './report.ts'
import { createScene } from './scene.ts'
import { capAt, toReason } from './verdict.ts'
import { judgeWork } from './work.ts'

/** Progress of a run. */
export interface CheckProgress {
  readonly done: number
  readonly total: number
  /** Ids of the checks that have begun and not ended, the oldest first. */
  readonly running: readonly string[]
}

/** Options of `checkReceiver`: which checks run, how long they wait, and how they see the work of the receiver. */
export interface CheckOptions {
  /** Signing secret of the receiver. */
  readonly secret: Secret
  /** Time limit for an answer; default 10 s, which is the service's deadline. */
  readonly timeoutMs?: number | undefined
  /**
   * Time for which the receiver may put a delivery off with 429 or 503 and `Retry-After`, and time for the work of an acknowledged
   * event, its retries included; default 30 s, after which the service retries too.
   */
  readonly patienceMs?: number | undefined
  /** Number of checks that run at the same time; default 8. */
  readonly concurrency?: number | undefined
  /** Ids or groups of the checks to run; all by default. Without `accepts-valid`, a receiver that refuses everything may pass. */
  readonly only?: readonly string[] | undefined
  /** Ids or groups of checks to leave out and report as skipped. */
  readonly skip?: readonly string[] | undefined
  /** `accountKey` of the test events; default `check`. */
  readonly accountKey?: string | undefined
  /** Name of the signature header; default `X-Service-Signature`. */
  readonly signatureHeader?: string | undefined
  /** Reports how often the work was done. Without a probe, checks that need one are skipped. */
  readonly probe?: Probe | undefined
  /** Allows hosts other than this machine, which are refused by default: the checks send events that look real. */
  readonly allowRemote?: boolean | undefined
  /** Ends the run; checks that have not begun are reported as skipped. */
  readonly signal?: AbortSignal | undefined
  /** Called when a check begins, and when it has ended. */
  readonly onProgress?: ((progress: CheckProgress) => void) | undefined
}

const [, DEFAULT_PATIENCE_MS = 0] = ATTEMPT_DELAYS_MS
const TIME = number(1, LONGEST_TIMER_MS, 'a timer takes no longer time')
const OPTIONS: Readonly<Record<keyof CheckOptions, Kind>> = {
  secret: ANY,
  accountKey: FILLED_TEXT,
  signatureHeader: SIGNATURE_HEADER,
  timeoutMs: TIME,
  patienceMs: TIME,
  concurrency: number(1, 1_000),
  only: TEXTS,
  skip: TEXTS,
  probe: withMethods('runs', 'fail'),
  allowRemote: FLAG,
  signal: SIGNAL,
  onProgress: FUNCTION,
}

/**
 * Judges a receiver in any language by its answers over HTTP. Sends some 180 deliveries of test events, and some 460 with a probe, to the
 * given URL and nowhere else; their ids begin with `evt_chk_`.
 *
 * Never rejects because of the receiver: see `isReachable` and `summary` of the report.
 *
 * @param target the URL to which the service delivers
 * @throws ConfigurationError `secret_unusable`; `option_unknown`; `option_invalid` for a URL that is not http, an unknown id or group, or a host other
 * than this machine without `allowRemote`
 * @example const { summary } = await checkReceiver('http://localhost:3000/webhooks', { secret })
 */
export async function checkReceiver(target: string | URL, options: CheckOptions): Promise<Report> {
  const checker = new OptionChecker('checkReceiver')
  checker.mustBeObject(options, '{ secret }')
  checker.mustFit(options, OPTIONS)
  const { timeoutMs = SERVICE_DEADLINE_MS, patienceMs = DEFAULT_PATIENCE_MS, concurrency = 8 } = options
  const { accountKey = 'check', signatureHeader = SIGNATURE_NAME, skip = [], secret } = options
  const url = toUrl(checker, target, options.allowRemote ?? false)
  importSecret(secret)
  const cases = select(checker, options.only ?? GROUPS)
  select(checker, skip)
  const { signal } = options
  const probe = options.probe && withCounts(options.probe)
  const scene = createScene({ target: url, secret, accountKey, signatureHeader, timeoutMs, patienceMs, probe, signal })

  const startedAt = new Date().toISOString()
  const found = new Map<string, Conclusion>()
  let finding: Finding | undefined
  const isHanging = createHangTest(scene)
  const causeToLeaveOut = async (single: GroupedCase): Promise<Cause | undefined> => {
    if (isNamed(single, skip)) return 'not_asked'
    if (signal?.aborted === true) return 'interrupted'
    if (scene.isLost()) return 'unreachable'
    if (finding?.isAbsent === true) return 'absent'
    // The last check is the one that fails then.
    if (single.id !== 'alive-after-all' && (await unlessInterrupted(isHanging(), signal))) return 'hangs'
    return finding !== undefined && single.group === 'effect' ? 'plain_refused' : undefined
  }
  const running = new Set<string>()
  const tellProgress = () => options.onProgress?.({ done: found.size, total: cases.length, running: [...running] })
  const check = async (single: GroupedCase) => {
    running.add(single.id)
    tellProgress()
    const cause = await causeToLeaveOut(single)
    const conclusion = cause === undefined ? await carryOut(single, scene, signal) : leaveOut(single, cause)
    found.set(single.id, conclusion)
    running.delete(single.id)
    tellProgress()
    const isRefused = single.id === 'accepts-valid' && conclusion.status === 'fail'
    if (isRefused) finding = await unlessInterrupted(diagnose(scene), signal)
  }
  for (const batch of toBatches(cases)) await runAll(batch, concurrency, check)

  const conclusions = cases.flatMap(({ id }) => found.get(id) ?? [])
  finding ??= findLate(scene, conclusions)
  scene.close()
  const checks = conclusions.map((conclusion) => toResult(conclusion, url, signatureHeader))
  return {
    schema: 1,
    tool: 'postern',
    target: showTarget(url),
    startedAt,
    isReachable: !scene.isLost(),
    ...(finding !== undefined && { diagnosis: toDiagnosis(finding, conclusions) }),
    summary: summarize(checks),
    checks,
  }
}

/** Returns the result of a search by further deliveries; undefined if the run is interrupted. */
async function unlessInterrupted<T>(search: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  return search.catch((error: unknown) => {
    if (signal?.aborted !== true) throw error
    return undefined
  })
}

interface Conclusion extends Judged, Pick<CheckResult, 'ms'>, Partial<Pick<CheckResult, 'repro' | 'hint'>> {
  readonly single: GroupedCase
}

const PROBE_FIX =
  'This says nothing about the receiver. The probe has to return { "runs": n } for any event id, and accept the order to fail; see "The probe" in the reference of the command line.'

function leaveOut(single: GroupedCase, cause: Cause): Conclusion {
  return { single, id: single.id, group: single.group, status: 'skipped', answers: [], cause, ms: 0 }
}

async function carryOut(single: GroupedCase, scene: Scene, interrupt: AbortSignal | undefined): Promise<Conclusion> {
  const started = performance.now()
  const conclude = (verdict: Verdict, more: Partial<Conclusion> = {}): Conclusion => {
    const ms = Math.round(performance.now() - started)
    return { single, id: single.id, group: single.group, ...verdict, ms, ...more }
  }
  try {
    const judge = (found: Verdict) => {
      const verdict = capAt(single.level, found)
      return single.group === 'effect' ? verdict : judgeWork(scene, verdict)
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

function toResult(conclusion: Conclusion, target: URL, signatureHeader: string): CheckResult {
  const { status, cause, ms, repro, hint } = conclusion
  const single = nameHeader(conclusion.single, signatureHeader)
  const { id, group, level, sends, expects, why, fix } = single
  return {
    id,
    group,
    level,
    status,
    ...(cause !== undefined && { cause }),
    ms,
    sent: sends,
    expected: expects,
    reason: toReason(conclusion),
    why,
    hint: hint ?? fix,
    doc: `npx postern check --explain ${id}`,
    repro: repro ?? toCommand(showTarget(target), single, signatureHeader),
  }
}

const MAX_BODY_BYTES = 2_000

/**
 * Writes a POSIX shell command that sends the same delivery. `postern sign` makes the signature, so that the command holds neither a
 * secret nor a digest. Undefined if no single command can send it.
 */
export function toCurl(target: string, delivery: TestDelivery): string | undefined {
  const { method, body, contentType, pieceSize, isChunked, signatureName, signatures, isSigned } = delivery
  if (method === 'GET') return `curl -i ${quoteForShell(target)}`
  const written = Buffer.from(body).toString()
  const isText = isUtf8(body) && !/[^\P{Cc}\n]/u.test(written)
  const isPlain = isText && body.length > 0 && body.length <= MAX_BODY_BYTES
  const isUnsigned = signatures.length === 0
  if (!isPlain || pieceSize !== undefined || isChunked || !(isSigned || isUnsigned)) return undefined
  const text = quoteForShell(written)
  const header = isUnsigned ? '' : ` -H "${signatureName}: $(printf %s ${text} | npx postern sign)"`
  const type = quoteForShell(`Content-Type: ${contentType}`)
  return `curl -i ${quoteForShell(target)} -H ${type}${header} --data-binary ${text}`
}

function toCommand(target: string, { id, group }: GroupedCase, signatureHeader: string): string {
  const header = signatureHeader === SIGNATURE_NAME ? '' : ` --signature-header ${signatureHeader}`
  return `npx postern check ${quoteForShell(target)} --only ${id}${header}${group === 'effect' ? ' --probe URL' : ''}`
}

/** Groups checks that may run concurrently, in order; a check marked `alone` is a batch by itself. */
function toBatches(cases: readonly GroupedCase[]): readonly (readonly GroupedCase[])[] {
  const batches: GroupedCase[][] = []
  let isOpen = false
  for (const single of cases) {
    if (isOpen && single.alone !== true) batches.at(-1)?.push(single)
    else batches.push([single])
    isOpen = single.alone !== true
  }
  return batches
}

async function runAll(batch: readonly GroupedCase[], width: number, check: (single: GroupedCase) => Promise<void>) {
  const queue = batch.values() // shared: each worker takes the next
  const work = async () => {
    for (const single of queue) await check(single)
  }
  await Promise.all(Array.from({ length: Math.min(width, batch.length) }, work))
}

function isNamed({ id, group }: GroupedCase, names: readonly string[]): boolean {
  return names.includes(id) || names.includes(group)
}

function select(checker: OptionChecker, names: readonly string[]): readonly GroupedCase[] {
  const unknown = names.find((name) => !CASES.some((single) => isNamed(single, [name])))
  if (unknown !== undefined) {
    const ids = CASES.map(({ id }) => id)
    const nearest = findNearest(unknown, [...GROUPS, ...ids])
    const meant = nearest === undefined ? '' : ` Did you mean "${nearest}"?`
    throw checker.invalid(
      `there is no check or group "${unknown}".${meant} Groups: ${GROUPS.join(', ')}. Checks: ${ids.join(', ')}.`,
    )
  }
  return CASES.filter((single) => isNamed(single, names))
}

function toUrl(checker: OptionChecker, target: string | URL, allowRemote: boolean): URL {
  if (ABSOLUTE_URL(target) !== undefined)
    throw checker.invalid(`${show(target)} is not a URL; write it whole: http://localhost:3000/webhooks`)
  const url = new URL(target)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw checker.invalid(`the checks speak HTTP; the URL begins with "${url.protocol}".`)
  if (!allowRemote && !isLoopback(url))
    throw checker.invalid(
      `${url.hostname} is not this machine, and the checks send it events that look real. If this is intended, set allowRemote (--yes).`,
    )
  return url
}
