import { createHash } from 'node:crypto'
import { parseJson } from '../../../src/protocol/parse-json.ts'
import { readCode, readFailure } from '../../wire/code-word.ts'
import type { DeliveryAttempt, Reason } from '../delivery.ts'

/** Limit of a reason, which is shown in one line. */
const LONGEST = 300

/** Names the reason of a failed attempt: the error of the handler if the receiver reports it, the first line of its answer, or the failure. */
export function reasonOf({ failure, status, error, responseBody, responseHeaders }: DeliveryAttempt): Reason | null {
  if (failure === undefined) return null
  const reported = readFailure(responseBody)
  if (reported !== undefined) return toReason(reported.text, reported.handlers)
  if (status === undefined) return toReason(`${failure}: ${error}`)
  if (failure === 'redirect') return toReason(`${status} to ${responseHeaders.location ?? 'nowhere'}`)
  return toReason(`${status} ${readCode(responseBody) ?? readText(responseBody)}`)
}

/** Characters of an answer that are read: a page of HTML says in its first lines what failed. */
const MOST_READ = 4_096
const ENTITIES: Readonly<Record<string, string>> = { '#39': "'", quot: '"', lt: '<', gt: '>', nbsp: ' ', amp: '&' }

/** The text of an answer, also of JSON, as Fastify sends it for an error, or of a page of HTML, as Express does. */
function readText(body: string): string {
  const { error, message = error?.message, detail, title } = Object(parseJson(body.slice(0, MOST_READ)))
  const named: unknown = [message, detail, error, title].find((text) => typeof text === 'string' && text !== '')
  const start = (typeof named === 'string' ? named : body).slice(0, MOST_READ).trim()
  if (!start.startsWith('<')) return start
  const text = start.replace(/<(head|style|script)\b.*?<\/\1>|<[^>]*>/gis, '\n').trim()
  return text.replace(/&(#39|quot|lt|gt|nbsp|amp);/g, (whole, name) => ENTITIES[name] ?? whole)
}

/** The first line of an error, without a name that says nothing. A line that is cut keeps its identity by a hash. */
export function toReason(error: string, handlers: readonly string[] = []): Reason {
  const line = (error.split('\n', 1)[0] ?? '').replace(/^Error: (?=.)/, '').trim()
  if (line.length <= LONGEST) return { text: line, handlers }
  const hash = createHash('sha256').update(line).digest('hex').slice(0, 8)
  return { text: `${line.slice(0, LONGEST)}… ${hash}`, handlers }
}
