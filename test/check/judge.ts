import { type CheckOptions, checkReceiver, type Report, urlProbe } from 'postern/check'
import { expect } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'
import { type HandWritten, SECRET } from './faulty/hand-written.ts'

/** Returns the ids of the checks with this status, and their messages. */
export function told(report: Report, ...statuses: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    report.checks.filter(({ status }) => statuses.includes(status)).map(({ id, reason }) => [id, reason]),
  )
}

/** Expects no failure and no warning. */
export function mustBeSound(report: Report): void {
  expect(told(report, 'fail', 'warn')).toEqual({})
}

/** Runs the checks against a receiver, with its own probe. */
export async function judge(receiver: HandWritten, options: Partial<CheckOptions> = {}): Promise<Report> {
  const { port, close } = await listen(receiver.createServer())
  try {
    const probe = urlProbe(new URL(`http://127.0.0.1:${port}/probe`))
    return await checkReceiver(`http://127.0.0.1:${port}/webhooks`, {
      secret: SECRET,
      probe,
      patienceMs: 2_000,
      timeoutMs: 60_000, // of a busy machine
      ...options,
    })
  } finally {
    await close()
  }
}
