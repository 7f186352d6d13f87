#!/usr/bin/env node
import { stat } from 'node:fs/promises'
import { argv, env, stderr, stdin, stdout } from 'node:process'
import { BrokenOutput, EXIT } from './io.ts'
import { run } from './run.ts'

const interrupt = new AbortController()
// Handles each signal once, so that a second Ctrl-C ends the process. Containers and supervisors send SIGTERM.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort())

// The reader, such as `head`, has closed the pipe. Work in progress ends, and reports its result.
let broken: BrokenOutput | undefined
stdout.on('error', (error: NodeJS.ErrnoException) => {
  broken ??= new BrokenOutput(error)
  interrupt.abort(broken)
})
stderr.on('error', () => {}) // there is nobody to tell

function listenToKeys(listener: (key: string) => void): () => void {
  // Ctrl-C is a key like others then.
  const listen = (keys: Buffer) => {
    for (const key of keys.toString()) key === '\u0003' ? interrupt.abort() : listener(key)
  }
  stdin.setRawMode(true).on('data', listen).resume()
  return () => {
    stdin.off('data', listen).setRawMode(false).pause()
  }
}

/** `>/dev/null`, or a standard output that was closed from the start, in whose place Node opens that. */
async function isOutputDiscarded(): Promise<boolean> {
  try {
    const [out, nothing] = await Promise.all(['/dev/stdout', '/dev/null'].map((path) => stat(path)))
    return out !== undefined && out.rdev === nothing?.rdev
  } catch {
    return false // Windows has no such files
  }
}

const io = { env, stdin, stdout, stderr, isOutputDiscarded, interrupt: interrupt.signal }
let isEnded = false
run(argv.slice(2), stdin.isTTY ? { ...io, listenToKeys } : io).then((code) => {
  isEnded = true
  process.exitCode = code
  stdin.destroy() // a read that is under way would keep the process alive
})
// Not before: a command may be done before its last write has failed.
process.once('exit', (code) => {
  // Node ends a program with 0 if it waits for what nothing can bring about any more.
  if (!isEnded && code === EXIT.done) {
    process.exitCode = EXIT.failed
    stderr.write('postern: ended without a result, which is a defect of postern\n')
  }
  const isInterrupted = process.exitCode === EXIT.interrupted && interrupt.signal.reason === broken
  if (broken === undefined || (process.exitCode !== EXIT.done && !isInterrupted)) return
  process.exitCode = broken.exitCode
  if (broken.exitCode !== EXIT.closed) stderr.write(`postern: ${broken.message}\n`)
})
