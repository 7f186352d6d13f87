import { Duplex } from 'node:stream'

/** One end of a connection that stays in memory. What is written to it can be read from the other end. */
export class MemorySocket extends Duplex {
  /** Frameworks log it, and ask it for the address of the client. */
  readonly remoteAddress = '127.0.0.1'
  readonly remotePort = 0
  #other: MemorySocket | undefined
  #hasEnd = false
  #onRead: (() => void) | undefined

  /** Both ends: the client's and the server's. */
  static createPair(): readonly [client: MemorySocket, server: MemorySocket] {
    const [client, server] = [new MemorySocket(), new MemorySocket()]
    client.#other = server
    server.#other = client
    return [client, server]
  }

  /** Apps call these for the request or the response; in memory nothing is idle, delayed or kept alive. */
  setTimeout(): this {
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  address(): object {
    return {}
  }

  override _read(): void {
    const onRead = this.#onRead
    this.#onRead = undefined
    onRead?.()
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, callback: () => void): void {
    const other = this.#other
    // The reader's pace is the writer's, as with a full buffer of a socket.
    if (other === undefined || other.destroyed || other.push(chunk)) callback()
    else other.#onRead = callback
  }

  override _final(callback: () => void): void {
    if (this.#other !== undefined) this.#other.#end()
    callback()
  }

  /** A connection that was not ended well is lost for the other end too, once it has read what came before. */
  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    const other = this.#other
    this._read() // nobody will read on, so nobody must wait for it
    if (other !== undefined && !other.destroyed && !(this.writableFinished && this.#hasEnd)) {
      other.#end()
      setImmediate(() => other.destroy())
    }
    callback(error)
  }

  #end(): void {
    if (this.#hasEnd || this.destroyed) return
    this.#hasEnd = true
    this.push(null)
  }
}
