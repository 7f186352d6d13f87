/** Limit of an answer: a log of 10,000 deliveries on one page has some 20 MB. */
const MAX_BODY_BYTES = 64 * 1024 * 1024

/** Answer whose whole body was read. */
export interface WholeAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Thrown if a body exceeds its limit. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge'
}

/** Reads the whole body of an answer, so that a connection that breaks is noticed while the request can still be retried. */
export async function readWhole(response: Response, maxBytes: number = MAX_BODY_BYTES): Promise<WholeAnswer> {
  const { status, headers } = response
  // A custom fetch may follow redirects although `redirect` is `manual`, or hide them.
  if (response.redirected || response.type === 'opaqueredirect')
    return { status: 302, headers: new Headers({ location: response.url }), text: '' }
  return { status, headers, text: await readText(response, maxBytes) }
}

async function readText({ body }: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let length = 0
  for await (const chunk of body ?? []) {
    length += chunk.length
    if (length > maxBytes) throw new BodyTooLarge(`it has over ${maxBytes} bytes`)
    text += decoder.decode(chunk, { stream: true })
  }
  return text
}
