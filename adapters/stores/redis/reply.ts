/** A number of a reply: clients can be told to give numbers as text, bytes or bigints. Undefined where it is none. */
export function toNumber(reply: unknown): number | undefined {
  const number = typeof reply === 'number' ? reply : Number(toText(reply))
  return Number.isNaN(number) ? undefined : number
}

/** Text of a reply, also from clients that were told to give bytes. */
export function toText(reply: unknown): string {
  return reply instanceof Uint8Array ? Buffer.from(reply).toString() : String(reply)
}

/** Whether an error is an answer of the server, which begins with a word in capitals: `READONLY You can't write …`. */
export function isFromServer(error: unknown): boolean {
  return /^[A-Z][A-Z0-9]+ /.test(String(Object(error).message))
}

/** Whether the server takes no writes since it is a replica. Before Redis 7 a script's error holds the word further behind. */
export function isOfReplica(error: unknown): boolean {
  return /(^|-)READONLY /.test(String(Object(error).message))
}
