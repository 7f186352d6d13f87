import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

it('npm start shows every kind of delivery and exits 0', async () => {
  // It rejects on any other exit code.
  const { stdout } = await promisify(execFile)('npm', ['start', '--silent'], { env: { ...process.env, NO_COLOR: '1' } })
  const shown = stdout.split('\n')
  const countOf = (...parts: string[]) => shown.filter((row) => parts.every((part) => row.includes(part))).length
  // How many of the copies come while the first one runs is the machine's affair.
  expect(countOf(' 200 ', 'with the copy that came first') + countOf(' 200 ', 'duplicate')).toBe(19)
  expect(countOf(' 200 ', 'ignored')).toBe(1)
  expect(countOf(' 401 ', 'rejected: signature_mismatch')).toBe(3)
  expect(countOf(' 401 ', 'rejected: signature_missing')).toBe(1)
  expect(countOf(' 500 ', 'failed: handler_failed')).toBe(1)
  expect(countOf(' 500 ', 'error: body_consumed')).toBe(1)
  expect(stdout).toContain('captureRawBody')
  expect(stdout).toContain('33 deliveries')
  expect(stdout).toContain('all as it should be')
}, 60_000)
