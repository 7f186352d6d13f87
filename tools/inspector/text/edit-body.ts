import { parseJson } from '../../../src/protocol/parse-json.ts'

export function makeEventId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12))
  return `evt_${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/** Replaces the event id in a body. Everything else stays as it was written, and a body without an id stays unchanged. */
export function replaceId(body: string, id: string): string {
  const old = readField(body, 'id')
  if (old === undefined) return body
  const pattern = /("id"\s*:\s*)("(?:[^"\\]|\\.)*")/g
  // Records may have an id too. The envelope's is the one whose replacement `readField` returns.
  for (const match of body.matchAll(pattern)) {
    const changed =
      body.slice(0, match.index) + match[1] + JSON.stringify(id) + body.slice(match.index + match[0].length)
    if (readField(changed, 'id') === id) return changed
  }
  return body
}

export function readField(body: string, name: string): string | undefined {
  const value: unknown = Object(parseJson(body))[name]
  return typeof value === 'string' ? value : undefined
}

export function findJsonProblem(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

export function findDataProblem(text: string): string | undefined {
  const value = parseJson(text)
  if (value === undefined) return `This is not JSON: ${findJsonProblem(text)}`
  return Object(value) === value && !Array.isArray(value) ? undefined : 'The data of an event is a JSON object: { … }'
}

/** Finds the exact body in pasted text: a body, a fixture, or a line of `postern deliveries list --json`. */
export function readPasted(text: string): { readonly base64?: string; readonly text?: string } | undefined {
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null) return undefined
  const { id, type, accountKey, bodyBase64, body, event, entry } = value as Readonly<Record<string, unknown>> // an object, as was checked
  if (typeof bodyBase64 === 'string') return { base64: bodyBase64 }
  if (typeof body === 'string') return { text: body }
  if (typeof id === 'string' && typeof type === 'string' && typeof accountKey === 'string') return { text }
  const inner = typeof event === 'object' && event !== null ? event : Object(entry).event
  return typeof inner === 'object' && inner !== null ? { text: JSON.stringify(inner) } : undefined
}

/** Returns the text of a field, which knows only LF, with the line breaks of its source: those of a text that was not changed, or CRLF if the source has no other. */
export function restoreBreaks(text: string, source: string): string {
  if (source.replace(/\r\n?/g, '\n') === text) return source
  return /\r\n/.test(source) && !/(^|[^\r])\n|\r(?!\n)/.test(source) ? text.replace(/\n/g, '\r\n') : text
}
