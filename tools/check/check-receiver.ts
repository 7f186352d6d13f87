import { LONGEST_TIMER_MS } from '../../src/host/clock.ts'
import { SERVICE_EVENT_TYPES } from '../../src/protocol/events.ts'
import { findMeantType } from '../../src/protocol/find-meant-type.ts'
import { SIGNATURE_HEADER } from '../../src/protocol/head.ts'
import { isLoopback } from '../../src/protocol/loopback.ts'
import { findNearest } from '../../src/protocol/nearest.ts'
import {
  ANY,
  FILLED_TEXT,
  FLAG,
  FUNCTION,
  HTTP_URL,
  type Kind,
  number,
  OptionChecker,
  SIGNAL,
  TEXTS,
  withMethods,
} from '../../src/protocol/option-checker.ts'
import { ATTEMPT_DELAYS_MS, SERVICE_DEADLINE_MS } from '../../src/protocol/schedule.ts'
import { show } from '../../src/protocol/show.ts'
import { importSecret, type Secret } from '../../src/protocol/signature.ts'
import { SIGNATURE_NAME } from '../../src/protocol/signature-name.ts'
import { findWholeUrl } from '../../src/protocol/whole-url.ts'
import { showTarget } from '../wire/target.ts'
import { GROUPS, type Maker } from './case.ts'
import { CASES, type GroupedCase, nameFor } from './cases.ts'
import { toDiagnosis } from './diagnose.ts'
import { PLAIN_TYPE } from './maker.ts'
import { type Probe, withCounts } from './probe.ts'
import { type CheckResult, type Report, summarize } from './report.ts'
import { toCommand } from './repro.ts'
import { type Conclusion, runChecks } from './run-checks.ts'
import { createScene } from './scene.ts'
import { listUnchecked } from './unchecked.ts'
import { toReason } from './verdict.ts'

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
  /** Ids or groups of the checks to run; all by default. `accepts-valid` joins them if no plain delivery is accepted. */
  readonly only?: readonly string[] | undefined
  /** Ids or groups of checks to leave out and report as skipped. */
  readonly skip?: readonly string[] | undefined
  /** `accountKey` of the test events; default `check`. */
  readonly accountKey?: string | undefined
  /** Name of the signature header; default `X-Service-Signature`. */
  readonly signatureHeader?: string | undefined
  /**
   * Type of the plain events, for a receiver whose work is for another one: `financeInvoice.*` for a model, `finance.payment.completed`, or
   * any other; default `contact.*`.
   */
  readonly type?: string | undefined
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
/** A receiver that answers in less is rare. */
const TIME_LIMIT = number(100, LONGEST_TIMER_MS, 'it is in milliseconds')
/** Kind of the type of plain events. */
const PLAIN: Kind = (value) => {
  if (typeof value !== 'string' || !/^\w+(\.\w+)*\.(\w+|\*)$/.test(value))
    return 'a type, such as "finance.payment.completed", or all of a model, "contact.*"'
  const meant = findMeantType(value)
  return meant && show(meant)
}
const OPTIONS: Readonly<Record<keyof CheckOptions, Kind>> = {
  secret: ANY,
  accountKey: FILLED_TEXT,
  signatureHeader: SIGNATURE_HEADER,
  type: PLAIN,
  timeoutMs: TIME_LIMIT,
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
 * Judges a receiver in any language by its answers over HTTP. Sends some 1,100 deliveries of test events, and up to 2,700 with a probe, to the
 * given URL and nowhere else; most of their ids begin with `evt_chk_`.
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
  const type = toPlainType(options.type)
  const url = toUrl(checker, target, options.allowRemote ?? false)
  importSecret(secret)
  const cases = select(checker, options.only ?? GROUPS)
  const skipped = select(checker, skip)
  if (cases.every((single) => skipped.includes(single))) throw checker.invalid('only and skip leave no check to run.')
  const { signal } = options
  const probe = options.probe && withCounts(options.probe)
  const scene = createScene({
    target: url,
    secret,
    accountKey,
    signatureHeader,
    type,
    timeoutMs,
    patienceMs,
    probe,
    signal,
  })

  const startedAt = new Date().toISOString()
  const { conclusions, finding } = await runChecks(scene, {
    cases,
    isSkipped: (single) => isNamed(single, skip),
    concurrency,
    signal,
    onChange: (running, done) => options.onProgress?.({ done, total: cases.length, running: [...running] }),
  })
  scene.close()
  const isPartly = conclusions.some((conclusion) => conclusion.isPartly)
  const checks = conclusions.map((conclusion) => toResult(conclusion, url, scene.make, isPartly))
  return {
    schema: 1,
    tool: 'postern',
    target: showTarget(url),
    startedAt,
    isReachable: !scene.isLost(),
    ...(finding !== undefined && { diagnosis: toDiagnosis(finding, conclusions) }),
    summary: summarize(checks),
    unchecked: listUnchecked(checks),
    checks,
  }
}

/** Advice for work that was done several times, if some duplicates were recognized. */
const SEVERAL_PROCESSES =
  'Some duplicates of one event were recognized, and others were not: several processes (workers of a cluster, instances, functions) receive deliveries, each with its own memory of ids, or one keeps so few ids that the events of other checks push them out. Keep the ids in a database that all of them share, for hours. If neither is so: '

function toResult(conclusion: Conclusion, target: URL, make: Maker, isPartly: boolean): CheckResult {
  const { status, cause, ms, repro, hint, runs = 1 } = conclusion
  const single = nameFor(conclusion.single, make)
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
    hint: hint ?? (isPartly && runs > 1 ? SEVERAL_PROCESSES : '') + (runs === 1 ? fix : (single.fixFor?.(runs) ?? fix)),
    doc: `npx postern check --explain ${id}`,
    repro: repro ?? toCommand(showTarget(target), single, make),
  }
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

/** Returns the type of plain events: `contact.*` stands for the first of its types. */
function toPlainType(type = PLAIN_TYPE): string {
  if (!type.endsWith('.*')) return type
  const start = type.slice(0, -1)
  return SERVICE_EVENT_TYPES.find((each) => each.startsWith(start)) ?? `${start}created`
}

function toUrl(checker: OptionChecker, target: string | URL, allowRemote: boolean): URL {
  if (HTTP_URL(target) !== undefined)
    throw checker.invalid(
      `${show(target)} is not a URL of HTTP; write it whole: ${findWholeUrl(target) ?? 'http://localhost:3000/webhooks'}`,
    )
  const url = new URL(target)
  if (!allowRemote && !isLoopback(url))
    throw checker.invalid(
      `${url.hostname} is not this machine, and the checks send it events that look real. If this is intended, set allowRemote (--yes).`,
    )
  return url
}
