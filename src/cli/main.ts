#!/usr/bin/env node
import { argv, env, stderr, stdin, stdout } from 'node:process'
import { run } from './run.ts'

const interrupt = new AbortController()
// Once: whoever presses it again means it.
process.once('SIGINT', () => interrupt.abort())

run(argv.slice(2), { env, stdin, stdout, stderr, interrupt: interrupt.signal }).then((code) => {
  process.exitCode = code
})
