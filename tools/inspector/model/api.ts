/** True if the page shows an inbox alone, without an emulator. */
export const IS_ALONE: boolean = document.documentElement.dataset.subject === 'inbox'
export class NoAnswer extends Error {}

export const SERVER: string = IS_ALONE ? 'postern inbox serve' : 'the emulator'

/** Timeout of a GET. Behind a tunnel whose other end sleeps, the page would otherwise wait forever and show an old state. */
const LONGEST_GET_MS = 15_000

/** Calls the control interface, or a path that begins with `/`. Rejects with the server's message if the call is refused. */
export async function api<T>(line: string, body?: object): Promise<T> {
  const [method = 'GET', path = ''] = line.split(' ')
  const needsBody = method === 'POST' || method === 'PUT'
  let response: Response
  let text: string
  try {
    response = await fetch(path.startsWith('/') ? path : `/_emulator/${path}`, {
      method,
      // A call that may have taken effect is never aborted.
      ...(method === 'GET' && { signal: AbortSignal.timeout(LONGEST_GET_MS) }),
      ...(needsBody && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body ?? {}) }),
    })
    text = await response.text()
  } catch {
    throw new NoAnswer(`${SERVER} does not answer`)
  }
  const answer = text === '' ? undefined : JSON.parse(text)
  if (!response.ok) throw new Error(Object(answer).message ?? `${SERVER} answered ${response.status}`)
  return answer
}

/** Path of a delivery. The id may come from the URL of the page, and must not lead to another route. */
export function toPath(delivery: string): string {
  return `deliveries/${encodeURIComponent(delivery)}`
}

export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
