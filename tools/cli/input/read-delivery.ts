import { isObject } from '../../../src/protocol/envelope.ts'
import { parseJson } from '../../../src/protocol/parse-json.ts'
import { type ExitError, type Io, usageError } from '../io.ts'
import { adviseFile, readJsonText, type SecretOptions } from './secret.ts'

export interface RecordedDelivery {
  readonly body: Buffer
  /** Value of the signature header; empty if there is none. */
  readonly header: string
}

/**
 * Reads a delivery from one JSON object: its body as `bodyBase64` or else as the text `body`, and `headers`, or the one value as
 * `signature`.
 *
 * @param given the JSON itself, `@FILE`, or `-` or `@-` for standard input
 * @param name the name of the signature header
 */
export async function readDelivery(
  given: string,
  name: string,
  secret: SecretOptions,
  io: Io,
): Promise<RecordedDelivery> {
  const value = parseJson(await readJsonText(given, secret, io))
  if (!isObject(value)) throw unusable('one JSON object, on one line or several', adviseFile(given))
  const { headers = {}, signature = headerOf(headers, name), body, bodyBase64 } = value
  if (typeof signature !== 'string') throw unusable('"headers", an object, or "signature", text')
  if (typeof bodyBase64 === 'string') {
    if (!/^[\w+/-]*=*\s*$/.test(bodyBase64)) throw unusable('base64 as "bodyBase64"')
    return { body: Buffer.from(bodyBase64, 'base64'), header: signature }
  }
  if (typeof body !== 'string')
    throw unusable('its body: the exact bytes as "bodyBase64", or text as "body", not what a parser made of it')
  return { body: Buffer.from(body), header: signature }
}

/** Returns the signature header, empty if there is none; undefined if these are no headers. */
function headerOf(headers: unknown, wanted: string): string | undefined {
  if (!isObject(headers)) return undefined
  const [entry] = Object.entries(headers).filter(([name]) => name.toLowerCase() === wanted.toLowerCase())
  const value: unknown = entry?.[1]
  // As HTTP joins several values of one header.
  return Array.isArray(value) ? value.join(', ') : typeof value === 'string' ? value : ''
}

function unusable(what: string, advice = ''): ExitError {
  return usageError(
    `--delivery needs ${what}.${advice} Example: {"headers":{"x-service-signature":"sha256=..."},"bodyBase64":"eyJ..."}`,
  )
}
