import { createServer, connect as dial, type Socket } from 'node:net'

/** A proxy between clients and an engine that simulates faults of networks. */
export class FaultyProxy {
  readonly #server
  readonly #connections = new Set<Connection>()
  /** Cuts a connection when its client sends this text: before it goes to the engine, or right after it. Once. */
  cutAt: { readonly text: string; readonly isForwarded: boolean } | undefined
  /** From this text of a client on, nothing passes on its connection, in either direction. Once. */
  muteAt: string | undefined
  /** The bytes after which an answer falls silent, as on a network that is too slow for it. */
  longestAnswer = Number.POSITIVE_INFINITY
  /** True if new connections are silent as well. */
  isMuteForNew = false
  /** The number of connections that clients hold open. */
  held = 0
  /** The port of new connections. */
  target: number

  constructor(target: number) {
    this.target = target
    this.#server = createServer((client) => {
      const connection: Connection = {
        client,
        engine: dial(this.target, '127.0.0.1'),
        isMute: this.isMuteForNew,
        answered: 0,
      }
      const { engine } = connection
      this.held++
      client.on('close', () => this.held--)
      this.#connections.add(connection)
      for (const socket of [client, engine]) socket.on('error', () => {})
      engine.on('close', () => {
        if (connection.isMute) this.#connections.delete(connection)
        else client.destroy()
      })
      client.on('close', () => {
        if (connection.isMute) return
        this.#connections.delete(connection)
        engine.end() // written data still arrives
      })
      engine.on('data', (data) => {
        connection.answered += data.length
        if (connection.answered > this.longestAnswer) connection.isMute = true
        if (!connection.isMute) client.write(data)
      })
      client.on('data', (data) => this.#onData(connection, data))
    })
  }

  #onData(connection: Connection, data: Buffer): void {
    const { client, engine } = connection
    connection.answered = 0
    if (this.muteAt !== undefined && data.includes(this.muteAt)) {
      this.muteAt = undefined
      connection.isMute = true
    }
    if (connection.isMute) return
    const { cutAt } = this
    if (cutAt === undefined || !data.includes(cutAt.text)) return void engine.write(data)
    this.cutAt = undefined
    client.destroy()
    if (cutAt.isForwarded) engine.write(data)
    else engine.destroy()
  }

  /** From now on nothing passes on the open connections, and neither side is informed. New connections work. */
  mute(): void {
    for (const connection of this.#connections) connection.isMute = true
  }

  /** Ends silent connections, on both sides. */
  closeMuted(): void {
    for (const { client, engine, isMute } of this.#connections) {
      if (!isMute) continue
      client.destroy()
      engine.destroy()
    }
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('a TCP server has an address')
    return address.port
  }

  close(): void {
    for (const { client, engine } of this.#connections) {
      client.destroy()
      engine.destroy()
    }
    this.#server.close()
  }
}

interface Connection {
  readonly client: Socket
  readonly engine: Socket
  isMute: boolean
  /** The bytes of the engine since the last of the client. */
  answered: number
}
