import { run } from '../../src/cli/run.ts'
import { SECRET } from '../check/faulty/hand-written.ts'

interface Setting {
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  readonly isTTY?: boolean
  readonly interrupt?: AbortSignal
}

/** Runs one command line in this process, and gives its exit code and what it wrote. */
export async function runCli(args: readonly string[], setting: Setting = {}) {
  const { env = { WEBHOOK_SECRET: SECRET }, stdin = '', isTTY = false } = setting
  const written = { stdout: '', stderr: '' }
  const to = (name: 'stdout' | 'stderr') => ({
    isTTY,
    write: (text: string) => {
      written[name] += text
    },
  })
  async function* read() {
    yield Buffer.from(stdin)
  }
  const interrupt = setting.interrupt ?? new AbortController().signal
  const code = await run(args, { env, stdin: read(), stdout: to('stdout'), stderr: to('stderr'), interrupt })
  return { code, ...written }
}

/** The lines of an NDJSON stream. */
export function readLines(text: string): readonly Readonly<Record<string, unknown>>[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}
