import { checkReceiver, urlProbe } from 'postern/check'
import { describe, expect, it } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'
import * as architectures from './architectures.ts'
import { SECRET } from './faulty/hand-written.ts'
import { told } from './judge.ts'

/** Warnings that may be due: a receiver that defers concurrent deliveries uses up an attempt. */
const WARNINGS: Readonly<Record<keyof typeof architectures, readonly string[]>> = {
  AsksForPatience: [],
  BacksOff: [],
  BehindProxy: [],
  ClosesConnections: [],
  DropsIdleConnections: [],
  HidesItself: [],
  HoldsDuplicates: [],
  Inbox: [],
  LastWriteWins: [],
  LimitsItself: ['duplicates-at-once', 'burst'],
  NeedsUserAgent: [],
  OneAtATime: [],
  SkipsWhatIsEqual: [],
  StartsSlowly: [],
  StoresBytes: [],
}

const RECEIVERS = Object.entries(architectures)

describe('a receiver of another design', () => {
  it.concurrent.each(RECEIVERS)('passes: %s', async (name, Receiver) => {
    const { port, close } = await listen(new Receiver().createServer())
    try {
      const probe = urlProbe(new URL(`http://127.0.0.1:${port}/probe`))
      const url = `http://127.0.0.1:${port}/webhooks`
      const report = await checkReceiver(url, {
        secret: SECRET,
        probe,
        timeoutMs: 60_000,
        skip: ['deadline', 'leak', 'bytes', 'time'],
      })
      expect(told(report, 'fail')).toEqual({})
      const due = WARNINGS[name as keyof typeof architectures] // it comes from there
      expect(Object.keys(told(report, 'warn')).filter((id) => !due.includes(id))).toEqual([])
    } finally {
      await close()
    }
  })
})
