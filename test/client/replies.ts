import type { Reply } from './support.ts'

export const WEBHOOK = { _id: 'w1', url: 'https://app.example.test/hooks', events: ['contact.created'], active: true }

/** Sends a body that ends too soon. */
export const cut: Reply = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
  response.write('{"_id":')
  response.socket?.destroy()
}

/** Ends the connection without an answer. */
export const drop: Reply = (response) => response.socket?.destroy()

export const busy = (headers: Record<string, string> = {}): Reply => ({ status: 429, body: 'slow down', headers })
