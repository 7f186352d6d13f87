#!/usr/bin/env node
import { argv, env, stderr, stdin, stdout } from 'node:process'
import { run } from './run.ts'

const interrupt = new AbortController()
// Once: whoever presses it again means it. Containers and supervisors end programs by the other one.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort())

// Whoever reads, such as `head`, has seen enough.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

run(argv.slice(2), { env, stdin, stdout, stderr, interrupt: interrupt.signal }).then((code) => {
  process.exitCode = code
})
