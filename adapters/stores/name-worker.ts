import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'

/** Names a worker of an inbox. The tries of its items contain the name. */
export function nameWorker(): string {
  return `${hostname()}:${process.pid}:${randomBytes(4).toString('hex')}`
}
