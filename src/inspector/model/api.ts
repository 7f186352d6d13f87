/** A call of the control interface. Rejects with the emulator's own words if it is refused. */
export async function api<T>(line: string, body?: object): Promise<T> {
  const [method = 'GET', path = ''] = line.split(' ')
  const needsBody = method === 'POST' || method === 'PUT'
  let response: Response
  try {
    response = await fetch(`/_emulator/${path}`, {
      method,
      ...(needsBody && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body ?? {}) }),
    })
  } catch {
    throw new Error('the emulator does not answer')
  }
  const text = await response.text()
  const answer = text === '' ? undefined : JSON.parse(text)
  if (!response.ok) throw new Error(Object(answer).message ?? `the emulator answered ${response.status}`)
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
