import { parseJson } from '../../src/protocol/parse-json.ts'

/** Returns the code word in an answer of a receiver of this package; null if it has none. */
export function readCode(body: string): string | null {
  return CODE.exec(body)?.[1] ?? null
}

/** Returns the error that a receiver of this package reports to `postern dev`; undefined if it reports none. */
export function readFailure(body: string): { readonly handlers: readonly string[]; readonly text: string } | undefined {
  if (!CODE.test(body)) return undefined
  const { text, handlers } = Object(Object(parseJson(body)).error)
  const names: readonly unknown[] = Array.isArray(handlers) ? handlers : []
  return typeof text === 'string' ? { text, handlers: names.map(String) } : undefined
}

/** Names a receiver and the place of its inbox: the options with which `postern inbox` opens it. */
export interface AcceptedInto {
  readonly name: string
  readonly place: readonly string[]
}

/** Returns the inbox that has accepted an event, as a receiver of this package names it to `postern dev`; undefined if it names none. */
export function readAcceptedInto(body: string): AcceptedInto | undefined {
  if (readCode(body) !== 'accepted') return undefined
  const { name, place } = Object(Object(parseJson(body)).inbox)
  const words: readonly unknown[] = Array.isArray(place) ? place : []
  return typeof name === 'string' && words.length > 0 ? { name, place: words.map(String) } : undefined
}

/** The part of a reason that the answer before it does not say. */
export function withoutAnswer(
  text: string,
  last: { readonly result: string; readonly code: string | null } | null,
): string {
  const [result = '', code = ''] = [last?.result, last?.code ?? '']
  if (!text.startsWith(result)) return text
  const rest = text.slice(result.length).replace(/^:? /, '')
  return rest === code ? '' : rest
}

const CODE = /^\s*\{\s*"code"\s*:\s*"(\w{1,40})"/
