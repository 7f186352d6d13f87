/**
 * One HTTP receiver in a process of its own: `server.mjs NAME`. Says its port, then answers `{ mark: true }` with the CPU time in µs
 * since the last mark and the number of events that were handled.
 */
import { createServer } from 'node:http'

let handled = 0
const onEvent = (record) => {
  handled += record._id.length > 0 ? 1 : 0
}
const { createListener } = await import(`./${process.argv[2]}.mjs`)
const made = await createListener(onEvent)
const server = typeof made === 'function' ? createServer(made) : made.server
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))

let last = process.cpuUsage()
process.on('message', (question) => {
  if (question.port) return process.send(server.address().port)
  const { user, system } = process.cpuUsage(last)
  const count = handled
  handled = 0
  process.send({ cpu: user + system, handled: count })
  last = process.cpuUsage()
})

process.on('disconnect', () => process.exit())
