/**
 * Runs one HTTP receiver in its own process: `server.mjs NAME`. Answers `{ port: true }` with its port, and `{ mark: true }` with the CPU
 * time in microseconds since the last mark and the number of handled events.
 */
import { createServer } from 'node:http'
import { answer, startCpu } from '../answer.mjs'

let handled = 0
const onEvent = (record) => {
  handled += record._id.length > 0 ? 1 : 0
}
const { createListener } = await import(`./${process.argv[2]}.mjs`)
const made = await createListener(onEvent)
const server = typeof made === 'function' ? createServer(made) : made.server
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))

let readCpu = startCpu()
answer(({ port }) => {
  if (port) return server.address().port
  const figures = { cpu: readCpu(), handled }
  handled = 0
  readCpu = startCpu()
  return figures
})
