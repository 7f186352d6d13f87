/** The memory that a chunk may retain beyond twice its own size, in bytes. */
const MOST_HELD = 512

/**
 * Returns a chunk in the form to keep. Over HTTP/2 a chunk of one byte may retain the 64 KiB that were read from the socket with it, so it
 * is copied.
 */
export function toKept(chunk: Uint8Array): Uint8Array {
  return chunk.buffer.byteLength > 2 * chunk.length + MOST_HELD ? new Uint8Array(chunk) : chunk
}
