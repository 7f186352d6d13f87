/**
 * Reads a number of a reply: clients can be configured to return numbers as text, bytes or bigints. Returns undefined for anything else.
 */
export function toNumber(reply: unknown): number | undefined {
  const number = typeof reply === 'number' ? reply : Number(toText(reply))
  return Number.isNaN(number) ? undefined : number
}

/** Reads text of a reply, including from clients that are configured to return bytes. */
export function toText(reply: unknown): string {
  return reply instanceof Uint8Array ? Buffer.from(reply).toString() : String(reply)
}

/** Returns whether an error is an answer of the server, which begins with a word in capitals: `READONLY You can't write …`. */
export function isFromServer(error: unknown): boolean {
  return /^[A-Z][A-Z0-9]+ /.test(String(Object(error).message))
}

/** Returns whether the server refuses writes because it is a replica. Before Redis 7 the word is further back in a script's error. */
export function isOfReplica(error: unknown): boolean {
  return /(^|-)READONLY /.test(String(Object(error).message))
}
