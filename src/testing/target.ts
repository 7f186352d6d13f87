import { show } from '../protocol/show.ts'

/** One request as a sender makes it. */
export interface TargetRequest {
  /** In the order in which they are sent; a name may be there twice. Neither `content-length` nor `host` is among them. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The parts in which the body is sent. Several go out one by one, without a declared length. */
  readonly body: readonly Uint8Array<ArrayBuffer>[]
  /** How long the body is said to be, where it is cut off: the rest never comes. */
  readonly declaredLength: number | undefined
  /** Cuts the connection. */
  readonly signal: AbortSignal
}

/** What came back. */
export interface TargetAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Whatever takes requests. Rejects where no answer came. */
export interface Target {
  send(request: TargetRequest): Promise<TargetAnswer>
}

/** Where in an app the deliveries go. */
export interface TargetOptions {
  /** The path, with a query if wanted. Default `/webhooks`. */
  readonly path?: string
}

/** The path of the options of a target: `/webhooks` unless they name another. */
export function pathOf(options: TargetOptions): string {
  if (typeof options !== 'object' || options === null)
    throw new TypeError(`A target takes its path as { path: ${show(options)} }.`)
  return options.path ?? '/webhooks'
}

/** The parts of a body, each in a turn of its own. A body that is cut off never ends: the connection does. */
export async function* sendParts({ body, declaredLength, signal }: TargetRequest): AsyncGenerator<Uint8Array> {
  for (const part of body) {
    yield part
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (declaredLength === undefined) return
  await new Promise((_resolve, reject) => {
    const cut = () => reject(signal.reason)
    if (signal.aborted) cut()
    else signal.addEventListener('abort', cut, { once: true })
  })
}

/** Headers with the length where the body goes out at once, for targets that declare nothing by themselves. */
export function withLength({ headers, body, declaredLength }: TargetRequest): TargetRequest['headers'] {
  const [whole, ...more] = body
  const length = declaredLength ?? (more.length === 0 ? (whole?.byteLength ?? 0) : undefined)
  return length === undefined ? headers : [...headers, ['content-length', String(length)]]
}
