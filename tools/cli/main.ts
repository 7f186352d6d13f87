import { argv, env, platform, stderr, stdin, stdout } from 'node:process'
import { BrokenOutput, EXIT } from './io.ts'
import { run } from './run.ts'

const interrupt = new AbortController()
// A second Ctrl-C ends the process. Containers and supervisors send SIGTERM.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort())

// After a closed pipe, such as that of `head`, the work in progress ends and reports its result.
let broken: BrokenOutput | undefined
stdout.on('error', (error: NodeJS.ErrnoException) => {
  broken ??= new BrokenOutput(error)
  interrupt.abort(broken)
})
stderr.on('error', () => {})

function listenToKeys(listener: (key: string) => void): () => void {
  // libuv leaves a mode alone that it has set last, though the shell has set another in the meantime.
  const toRawMode = () => void stdin.setRawMode(false).setRawMode(true)
  // In raw mode, Ctrl-C and Ctrl-Z are keys.
  const listen = (keys: Buffer) => {
    for (const key of keys.toString()) {
      if (key === '\u0003') interrupt.abort()
      else if (key === '\u001a' && platform !== 'win32') suspend(toRawMode)
      else listener(key)
    }
  }
  process.on('SIGCONT', toRawMode)
  toRawMode()
  stdin.on('data', listen).resume()
  return () => {
    process.off('SIGCONT', toRawMode)
    stdin.off('data', listen).setRawMode(false).pause()
  }
}

/** Stops the whole job, as the terminal does: the shell waits for npx, if that has started this process. */
function suspend(toRawMode: () => void): void {
  stdin.setRawMode(false)
  process.kill(0, 'SIGTSTP')
  setTimeout(toRawMode, 100).unref() // a job without a shell, as in a container, does not stop
}

const io = { env, stdin, stdout, stderr, interrupt: interrupt.signal }
let isEnded = false
run(argv.slice(2), stdin.isTTY ? { ...io, listenToKeys } : io).then((code) => {
  isEnded = true
  process.exitCode = code
  stdin.destroy() // a pending read would keep the process alive
})
// Runs last: a command may be done before its last write fails.
process.once('exit', (code) => {
  // Node exits with 0 if a promise can no longer settle.
  if (!isEnded && code === EXIT.done) {
    process.exitCode = EXIT.failed
    stderr.write('postern: ended without a result, which is a defect of postern\n')
  }
  const isInterrupted = process.exitCode === EXIT.interrupted && interrupt.signal.reason === broken
  if (broken === undefined || (process.exitCode !== EXIT.done && !isInterrupted)) return
  process.exitCode = broken.exitCode
  if (broken.code !== 'output_closed') stderr.write(`postern: ${broken.message}\n`)
})
