import { inboxSuite } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { FAULTS, type Fault, MemoryInbox, type MemoryTable } from './memory-inbox.ts'

/** Rejects with the first case that fails. */
async function judge(fault: Fault | 'none'): Promise<void> {
  const tables = new Map<string, MemoryTable>()
  const cases = inboxSuite((name) => new MemoryInbox(name, tables, fault))
  await Promise.all(cases.map(({ run }) => run()))
}

describe('the inbox suite', () => {
  it('accepts an inbox without a fault', async () => {
    await judge('none')
  }, 60_000)

  // Some faults are noticed only because something never happens.
  it.concurrent.each(FAULTS)(
    'notices an inbox that %s',
    async (fault) => {
      await expect(judge(fault)).rejects.toThrow()
    },
    120_000,
  )
})
