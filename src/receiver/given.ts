import { isBytes, tellBytes } from '../protocol/is-bytes.ts'
import { tellKnown } from '../protocol/option-checker.ts'
import { ignoreRejection, isThenable } from '../protocol/promises.ts'
import { quote, show } from '../protocol/show.ts'

const FIELDS = ['body', 'signature', 'headers', 'source', 'receivedAt', 'waitUntil']
const REQUEST =
  'receive() was given a request. Mount an adapter, such as fetchHandler(receiver) or nodeHandler(receiver): it reads the body. Or read the exact bytes, and give'
const NOT_BYTES =
  'receive() needs the exact bytes of the body as a Uint8Array or Buffer, not text or a parsed object, and the signature as text; await what is a promise'
const NOT_SIGNED =
  'receive() was given an event, which has no signature: sign it, receiver.receive(signed(event, { secret })) of postern/testing, or give it to receiver.dispatch(event).'

/** Returns why the argument of `receive` is no delivery, and the fix; undefined if it may be one. */
export function refuseGiven(given: unknown, isOfService: boolean): string | undefined {
  const { body, signature, headers, arrayBuffer, pipe, type } = Object(given)
  const form = isOfService
    ? 'receive({ body, signature }), with the value of the signature header'
    : 'receive({ body, headers }), with all headers, by name or as Headers'
  if (typeof given === 'string' || isBytes(given)) return `receive() takes one object: ${form}.`
  if (typeof arrayBuffer === 'function' || typeof pipe === 'function') return `${REQUEST} ${form}.`
  if (body === undefined && type !== undefined) return NOT_SIGNED
  if (!isBytes(body) || isThenable(signature) || isThenable(headers)) {
    for (const part of [given, body, signature, headers]) ignoreRejection(part)
    return (body === undefined ? findStray(given) : undefined) ?? `${NOT_BYTES}${tellBytes(body, 'body')}.`
  }
  if (isOfService && !(signature == null || typeof signature === 'string' || Array.isArray(signature)))
    return `The signature is ${show(signature)}. This receiver takes ${form}, as text.`
  const isWhole = isOfService
    ? 'signature' in Object(given)
    : typeof headers === 'object' && headers !== null && !Array.isArray(headers)
  return isWhole
    ? undefined
    : `This receiver takes ${form}. It was given ${Object.keys(Object(given)).map(quote).join(', ')}.`
}

/** Returns a sentence about a field, or an argument behind the first, that `receive` cannot use, if there is one. */
export function findStray(given: unknown, next?: unknown): string | undefined {
  if (typeof given !== 'object' || given === null) return undefined
  if (typeof next === 'object' && next !== null)
    return `receive() takes one object, and was given ${show(next)} behind it: all fields go into the first.`
  const { waitUntil } = given as { readonly waitUntil?: unknown } // any object may be asked
  if (waitUntil !== undefined && typeof waitUntil !== 'function')
    return `receive(): waitUntil is ${show(waitUntil)}; give a function.`
  const stray = Object.keys(given).find((name) => !FIELDS.includes(name) && name !== 'request') // signed() makes one
  return stray === undefined ? undefined : `receive() has no field ${quote(stray)}. ${tellKnown(stray, FIELDS)}`
}
