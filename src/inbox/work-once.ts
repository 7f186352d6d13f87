import { LONGEST_TIMER_MS } from '../host/clock.ts'
import { PosternError } from '../protocol/errors.ts'
import { type Kinds, OptionChecker, whole } from '../protocol/option-checker.ts'
import type { Inbox, TakenItem } from './inbox.ts'
import { WORK_OPTIONS, type WorkOptions } from './retries.ts'
import { startWorker, type Worker, type WorkerParts } from './worker.ts'

/** Options of `receiver.workOnce`. */
export type WorkOnceOptions = WorkOptions & {
  /**
   * Time for which it takes events, in milliseconds, from 1,000 on. What still runs then is aborted, and given back after a second at most.
   * Longer than `handlerTimeoutMs`: otherwise an event whose handler hangs never counts as failed.
   */
  readonly forMs: number
  /** The most events to run. Default: no limit. */
  readonly max?: number | undefined
}

/** The result of `receiver.workOnce`. */
export interface WorkedOnce {
  /** Events that were handled, or that had been. Not those whose key of `sealedInbox` was destroyed. */
  readonly handled: number
  /** Tries that failed. Their events are due again later, or are dead letters. */
  readonly failed: number
  /** Events that wait, if one of them is due: call again. 10,000 means as many or more. 0 if none is due. */
  readonly left: number
}

interface Limits {
  /** On the monotonic clock, in milliseconds. */
  readonly until: number
  readonly max: number
}

const check = new OptionChecker('receiver.workOnce')
const OPTIONS: Kinds<WorkOnceOptions> = {
  forMs: whole(1_000, LONGEST_TIMER_MS, 'milliseconds'),
  max: whole(1, Number.MAX_SAFE_INTEGER),
  ...WORK_OPTIONS,
}

/** Separates and checks the limits. Throws ConfigurationErrors. */
export function checkLimits(
  options: WorkOnceOptions,
  now: number,
): { readonly limits: Limits; readonly work: WorkOptions } {
  check.mustFit(options, OPTIONS, ['forMs'])
  const { forMs, max, ...work } = options
  return { limits: { until: now + forMs, max: max ?? Number.POSITIVE_INFINITY }, work }
}

/**
 * Runs what is due until nothing more is, a limit is reached, or the worker is closed.
 *
 * @param onBegun called with the worker
 * @throws PosternError `inbox_unavailable`, by rejecting
 */
export async function workOnce(
  parts: WorkerParts,
  { until, max }: Limits,
  onBegun: (worker: Worker) => void,
): Promise<WorkedOnce> {
  const { clock, inbox, onSettled } = parts
  let [handled, failed, begun] = [0, 0, 0]
  if (clock.monotonic() >= until) return { handled, failed, left: await countLeft(inbox) }
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const endIfDone = async () => {
    // An event may be due that no worker can take yet: its worker died a moment ago, or it runs alone elsewhere.
    if (begun >= max || (await countLeft(inbox).catch(() => 0)) === 0) end()
  }
  const isBegun = new WeakSet<TakenItem>()
  const begin = (item: TakenItem) => {
    isBegun.add(item)
    begun++
  }
  const worker = startWorker({
    ...parts,
    max,
    onClosing: end,
    onIdle: () => void endIfDone(),
    run(item) {
      begin(item)
      return parts.run(item)
    },
    recall(item) {
      begin(item)
      return parts.recall(item)
    },
    onSettled(item, settlement) {
      onSettled(item, settlement)
      // sealedInbox itself has settled an event that it cannot open: it was taken, and not handled.
      const isOpen = isBegun.has(item)
      if (!isOpen) begin(item)
      if (settlement.next === 'remove') handled += isOpen ? 1 : 0
      else if (settlement.next === 'bury' || settlement.isFailure) failed++
    },
  })
  onBegun(worker)
  const timer = clock.setTimeout(end, until - clock.monotonic())
  await ended
  clock.clearTimeout(timer)
  await (worker.closing ?? worker.close(0))
  return { handled, failed, left: await countLeft(inbox) }
}

async function countLeft(inbox: Inbox): Promise<number> {
  try {
    const { waiting, oldestDueAt } = await inbox.counts()
    return oldestDueAt === undefined ? 0 : waiting
  } catch (cause) {
    const message = 'workOnce: the inbox failed or cannot be reached. Its events are kept: call workOnce again later.'
    throw new PosternError('inbox_unavailable', message, { cause })
  }
}
