import { Duplex } from 'node:stream'

/** One end of a connection in memory. Data written to it can be read from the other end. */
export class MemorySocket extends Duplex {
  /** Address of the client, which frameworks read and log. */
  readonly remoteAddress = '127.0.0.1'
  readonly remotePort = 0
  // Apps call these. In memory nothing is idle, delayed or kept alive.
  readonly setTimeout = (): this => this
  readonly setNoDelay = (): this => this
  readonly setKeepAlive = (): this => this
  readonly ref = (): this => this
  readonly unref = (): this => this
  readonly address = (): object => ({})
  /** Itself only until `createPair` joins both ends. */
  #other: MemorySocket = this
  #hasEnd = false
  #onRead: (() => void) | undefined

  /** Creates both ends: that of the client and that of the server. */
  static createPair(): readonly [client: MemorySocket, server: MemorySocket] {
    const [client, server] = [new MemorySocket(), new MemorySocket()]
    client.#other = server
    server.#other = client
    return [client, server]
  }

  override _read(): void {
    const onRead = this.#onRead
    this.#onRead = undefined
    onRead?.()
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, callback: () => void): void {
    const other = this.#other
    // Slows the writer to the pace of the reader, like a full buffer of a socket.
    if (other.destroyed || other.push(chunk)) callback()
    else other.#onRead = callback
  }

  override _final(callback: () => void): void {
    this.#other.#end()
    callback()
  }

  /** Destroys the other end too, once it has read the data before a connection that did not end cleanly. */
  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    const other = this.#other
    this._read() // no one will read on, so no writer may wait for it
    if (!(this.writableFinished && this.#hasEnd)) {
      other.#end()
      setImmediate(() => other.destroy())
    }
    callback(error)
  }

  #end(): void {
    this.#hasEnd = true
    this.push(null)
  }
}
