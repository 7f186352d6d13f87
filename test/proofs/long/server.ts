/** A receiver on node:http with all defaults, in a separate process, that reports its memory to its parent. */
import { createServer } from 'node:http'
import { createReceiver } from 'postern'
import { nodeHandler } from 'postern/node'
import { silentLogger } from 'postern/testing'
import type { FromServer, ToServer } from './messages.ts'
import { SECRET } from './messages.ts'

const receiver = createReceiver({ secret: SECRET, logger: silentLogger })
receiver.on('sync.completed', () => {}).on('sync.failed', () => new Promise(() => {}))

const tell = (message: FromServer) => process.send?.(message)
const readRss = () => process.memoryUsage.rss()
let base = 0
let peak = 0

process.on('message', (message: ToServer) => {
  if (message === 'begin') {
    gc?.()
    base = peak = readRss()
  }
  tell({ base, peak })
})
setInterval(() => {
  peak = Math.max(peak, readRss())
}, 2)

const server = createServer(nodeHandler(receiver)).listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') tell({ port: address.port })
})
process.on('disconnect', () => process.exit())
