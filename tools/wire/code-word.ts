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

const CODE = /^\s*\{\s*"code"\s*:\s*"(\w{1,40})"/
