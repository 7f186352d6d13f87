import { Readable } from 'node:stream'
import { type Kind, OptionChecker } from '../../src/protocol/option-checker.ts'
import {
  pathOf,
  sendParts,
  type Target,
  type TargetOptions,
  type TargetRequest,
  wholeOf,
  withLength,
} from './target.ts'

/** Request to an app with `inject`. */
export interface Injection {
  readonly method: 'POST'
  readonly url: string
  readonly headers: Record<string, string | string[]>
  readonly payload: Buffer | Readable
  readonly signal: AbortSignal
}

/** App that receives requests by `inject`. */
export interface InjectableApp {
  inject(
    request: Injection,
  ): PromiseLike<{ readonly statusCode: number; readonly headers: object; readonly payload: string }>
}

/**
 * Creates a target of an app that receives requests by its own `inject`, with its hooks and plugins.
 *
 * @example fastifyTarget(app, { path: '/webhooks' })
 */
export function fastifyTarget(app: InjectableApp, options?: TargetOptions): Target
export function fastifyTarget(app: InjectableApp, ...rest: readonly unknown[]): Target {
  const check = new OptionChecker('fastifyTarget')
  check.mustBe('app', app, INJECTABLE)
  const path = pathOf(check, rest)
  return {
    async send(request) {
      const { statusCode, headers, payload } = await app.inject(toInjection(path, request))
      const entries = Object.entries(headers).map(([name, value]) => [name, String(value)])
      return { status: statusCode, headers: Object.fromEntries(entries), body: payload }
    },
  }
}

const INJECTABLE: Kind = (value) =>
  typeof Object(value).inject === 'function'
    ? undefined
    : 'an app with inject(); for one of another framework, use nodeTarget() or fetchTarget()'

function toInjection(url: string, request: TargetRequest): Injection {
  const whole = wholeOf(request)
  const headers: Record<string, string> = {}
  for (const [name, value] of withLength(request))
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}` // as Node joins them
  return {
    method: 'POST',
    url,
    headers,
    payload: whole ? Buffer.from(whole) : Readable.from(sendParts(request)),
    signal: request.signal,
  }
}
