/** Whether the page shows an inbox alone, without an emulator. */
export const IS_ALONE: boolean = document.documentElement.dataset.subject === 'inbox'
/** The server is not there. */
export class NoAnswer extends Error {}

/** Who serves the page. */
export const SERVER: string = IS_ALONE ? 'postern inbox serve' : 'the emulator'

/** An answer that takes longer is given up: a tunnel whose other end sleeps would leave the page waiting, with what was true once. */
const LONGEST_GET_MS = 15_000

/** A call of the control interface, or of a path that begins with `/`. Rejects with the server's own words if it is refused. */
export async function api<T>(line: string, body?: object): Promise<T> {
  const [method = 'GET', path = ''] = line.split(' ')
  const needsBody = method === 'POST' || method === 'PUT'
  let response: Response
  let text: string
  try {
    response = await fetch(path.startsWith('/') ? path : `/_emulator/${path}`, {
      method,
      // What may have been carried out is not given up.
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

/** Path of a delivery. Its id may come from the URL of the page, and must not lead to another route. */
export function toPath(delivery: string): string {
  return `deliveries/${encodeURIComponent(delivery)}`
}

/** What a promise rejected with, in words. */
export function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
