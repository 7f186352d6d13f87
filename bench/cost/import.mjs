/** Measures the cost of loading one module: CPU in ms, and resident memory in bytes. */
import { answer, startCpu } from '../answer.mjs'

answer(async () => {
  const [readCpu, rss] = [startCpu(), process.memoryUsage().rss]
  if (process.argv[2] !== 'nothing') await import(process.argv[2])
  return { ms: readCpu() / 1_000, rss: process.memoryUsage().rss - rss }
})
