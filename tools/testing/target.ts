import type { Kind, OptionChecker } from '../../src/protocol/option-checker.ts'

/** Request of a sender. */
export interface TargetRequest {
  /** Headers in the order in which they are sent; a name may occur twice. Without `content-length` and `host`. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Parts of the body. Several parts are sent one by one, without a declared length. */
  readonly body: readonly Uint8Array<ArrayBuffer>[]
  /** Declared length of a body that is cut off, so that the rest never arrives; otherwise undefined. */
  readonly declaredLength: number | undefined
  /** Signal that cuts the connection. */
  readonly signal: AbortSignal
}

/** Answer of a target. */
export interface TargetAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Receiver of requests. `send` rejects if no answer comes. */
export interface Target {
  send(request: TargetRequest): Promise<TargetAnswer>
}

/** Options of a target in an app. */
export interface TargetOptions {
  /** Path of the deliveries, which may have a query. Default `/webhooks`. */
  readonly path?: string | undefined
}

const PATH: Kind = (value) =>
  typeof value === 'string' && value.startsWith('/') ? undefined : 'a path that begins with "/", such as "/webhooks"'

/** Checks the arguments of a target behind the first, which are its options, and returns the path. */
export function pathOf(check: OptionChecker, [options = {}, next]: readonly unknown[]): string {
  check.mustFit(options, { path: PATH })
  check.mustEnd(next)
  return (options as TargetOptions).path ?? '/webhooks' // checked above
}

/** Yields the parts of a body, each in a separate turn of the event loop. A body that is cut off never ends; its connection does. */
export async function* sendParts({ body, declaredLength, signal }: TargetRequest): AsyncGenerator<Uint8Array> {
  for (const part of body) {
    yield part
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (declaredLength === undefined) return
  await new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

/** Returns a body that is sent as one part, with its length; undefined for any other. */
export function wholeOf({ body, declaredLength }: TargetRequest): Uint8Array<ArrayBuffer> | undefined {
  const [whole = new Uint8Array(), ...more] = body
  return more.length === 0 && declaredLength === undefined ? whole : undefined
}

/** Adds the length of a body in one part to the headers, for targets that do not declare it by themselves. */
export function withLength(request: TargetRequest): TargetRequest['headers'] {
  const { headers, declaredLength = wholeOf(request)?.byteLength } = request
  return declaredLength === undefined ? headers : [...headers, ['content-length', String(declaredLength)]]
}
