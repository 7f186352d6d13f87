import { afterAll, beforeAll } from 'vitest'

/** Starts a server for the tests of one block, and removes it after them. */
export function serverFor<Server extends { remove(): Promise<void> }>(start: () => Promise<Server>): () => Server {
  let server: Server | undefined
  beforeAll(async () => {
    server = await start()
  })
  afterAll(async () => {
    await server?.remove()
  })
  return () => {
    if (server === undefined) throw new Error('the server has not started')
    return server
  }
}
