import { PosternError } from '../protocol/errors.ts'
import type { AnyEvent } from '../protocol/events.ts'
import { ignoreRejection, isThenable, refuseUnfinished } from '../protocol/promises.ts'
import { reasonOf } from '../protocol/show.ts'
import type { Handler, HandlerContext } from './handler.ts'

/**
 * Wraps each run of a handler. `run` runs the handler once, even if it is called several times, and returns what the handler returns. An
 * interceptor can fail a handler, by throwing or rejecting, but cannot make a failure succeed: a handler that failed, or that was never
 * run, has failed whatever the interceptor returns.
 */
export type Interceptor = (
  run: () => unknown,
  event: AnyEvent<unknown>,
  context: HandlerContext,
  handlerName: string,
) => unknown

/** Returns a handler with an interceptor around it. */
export function intercept(handler: Handler<AnyEvent>, interceptor: Interceptor, name: string): Handler<AnyEvent> {
  return (event, context) => {
    let ran: { readonly result: unknown } | { readonly error: unknown } | undefined
    let isLater = false
    let isOver = false
    const run = (): unknown => {
      if (ran === undefined && isOver) return watched(Promise.reject(skipped(name)))
      // While an interceptor waits, another process may take over the event: its handler must not begin here.
      if (ran === undefined && isLater && context.signal.aborted) return watched(Promise.reject(context.signal.reason))
      ran ??= runOnce(handler, event, context)
      if ('error' in ran) throw ran.error
      return ran.result
    }
    /** Returns the result of the handler. An interceptor cannot make a failure succeed. */
    const end = (): unknown => {
      isOver = true
      return run()
    }
    try {
      const returned = refuseUnfinished(interceptor(run, event, context, name), 'An interceptor')
      isLater = true
      if (isThenable(returned)) return endAfter(returned, end)
    } catch (error) {
      return endAfter(Promise.reject(error), end)
    }
    return end()
  }
}

function runOnce(handler: Handler<AnyEvent>, event: AnyEvent, context: HandlerContext) {
  try {
    const result = refuseUnfinished(handler(event, context))
    // A query builder runs its query at each call of `then`: all callers share one promise.
    return {
      result: isThenable(result) ? watched(Promise.resolve(result).then((value) => refuseUnfinished(value))) : result,
    }
  } catch (error) {
    return { error }
  }
}

/** Avoids an unhandled rejection if an interceptor awaits the promise too late, or never. */
function watched<T>(work: Promise<T>): Promise<T> {
  ignoreRejection(work)
  return work
}

async function endAfter(intercepted: PromiseLike<unknown>, end: () => unknown): Promise<void> {
  try {
    refuseUnfinished(await intercepted, 'An interceptor')
  } catch (error) {
    // The handler may still run, and its claim must not be released before it ends.
    const failure: unknown = await Promise.resolve()
      .then(end)
      .catch((reason: unknown) => reason)
    const wasSkipped = Object(failure).code === 'interceptor_skipped' && Object(error).name === 'TypeError'
    throw wasSkipped ? misordered(failure, error) : error
  }
  await end()
}

function skipped(name: string): PosternError {
  return new PosternError(
    'interceptor_skipped',
    `An interceptor did not call run() before it ended, so the handler ${name} never ran. Return run() from it, or throw to fail the handler.`,
  )
}

/** Explains what an interceptor throws that takes its arguments in another order. */
function misordered(skipped: unknown, cause: unknown): PosternError {
  return new PosternError(
    'interceptor_skipped',
    `${reasonOf(skipped)} It failed before: ${reasonOf(cause)}. It is called with (run, event, context, handlerName).`,
    { cause },
  )
}
