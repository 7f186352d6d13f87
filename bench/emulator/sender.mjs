/** Runs one sender in its own process: `sender.mjs NAME URL`. Answers `{ count }` with the time that so many deliveries took. */
import { answer, startCpu } from '../answer.mjs'

const { createSender } = await import(`./${process.argv[2]}.mjs`)
const send = await createSender(process.argv[3])

answer(async ({ count }) => {
  const [readCpu, started] = [startCpu(), performance.now()]
  await send(count)
  return { cpu: readCpu() / count, wall: ((performance.now() - started) * 1_000) / count }
})
