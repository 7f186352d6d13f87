/** The memory that a chunk may hold on to beside its own and as much again, in bytes. */
const MOST_HELD = 512

/**
 * Returns a chunk as it is kept: over HTTP/2 one of a byte may hold on to the 64 KiB that were read from the socket with it, and is
 * copied.
 */
export function toKept(chunk: Uint8Array): Uint8Array {
  return chunk.buffer.byteLength > 2 * chunk.length + MOST_HELD ? new Uint8Array(chunk) : chunk
}
