import { createServer, connect as dial, type Socket } from 'node:net'

/** Stands between clients and an engine, and does to their connections what networks do. */
export class FaultyProxy {
  readonly #server
  readonly #connections = new Set<Connection>()
  /** Cuts a connection when its client sends this text: before it goes to the engine, or right behind it. Once. */
  cutAt: { readonly text: string; readonly isForwarded: boolean } | undefined
  /** From this text of a client on, nothing passes on its connection, in either direction. Once. */
  muteAt: string | undefined
  /** Whether new connections are silent as well. */
  isMuteForNew = false
  /** How many connections clients hold open. */
  held = 0
  /** The port that new connections lead to. */
  target: number

  constructor(target: number) {
    this.target = target
    this.#server = createServer((client) => {
      const connection: Connection = { client, engine: dial(this.target, '127.0.0.1'), isMute: this.isMuteForNew }
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
        engine.end() // what was written still gets there
      })
      engine.on('data', (data) => {
        if (!connection.isMute) client.write(data)
      })
      client.on('data', (data) => this.#onData(connection, data))
    })
  }

  #onData(connection: Connection, data: Buffer): void {
    const { client, engine } = connection
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

  /** From now on nothing passes on the connections that are open, and neither side is told. New ones are as good as any. */
  mute(): void {
    for (const connection of this.#connections) connection.isMute = true
  }

  /** Ends what is silent, on both sides. */
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
}
