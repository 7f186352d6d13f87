import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'

/** Names a worker of an inbox. The name is told in the tries of its items. */
export function nameWorker(): string {
  return `${hostname()}:${process.pid}:${randomBytes(4).toString('hex')}`
}
