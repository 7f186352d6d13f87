import { release } from './release.ts'

process.on('SIGINT', () => {}) // the command that runs gets it as well and fails, and then everything is cleaned up
await release(process.cwd(), process.argv.slice(2), console.log).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
})
