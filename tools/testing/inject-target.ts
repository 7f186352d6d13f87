import { Readable } from 'node:stream'
import { type Kind, OptionChecker } from '../../src/protocol/option-checker.ts'
import { pathOf, sendParts, type Target, type TargetOptions, type TargetRequest, withLength } from './target.ts'

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
export function fastifyTarget(app: InjectableApp, options: TargetOptions = {}): Target {
  const check = new OptionChecker('fastifyTarget')
  check.mustBe('app', app, INJECTABLE)
  const path = pathOf(check, options)
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
  const { body, declaredLength, signal } = request
  const [whole = new Uint8Array(), ...more] = body
  const headers: Record<string, string> = {}
  for (const [name, value] of withLength(request))
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}` // as Node joins them
  const isWhole = more.length === 0 && declaredLength === undefined
  return {
    method: 'POST',
    url,
    headers,
    payload: isWhole ? Buffer.from(whole) : Readable.from(sendParts(request)),
    signal,
  }
}
