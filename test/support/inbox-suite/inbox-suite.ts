import { randomBytes } from 'node:crypto'
import type { Inbox } from '../../../src/inbox/inbox.ts'
import { deadCases } from './dead-cases.ts'
import { deathCases } from './death-cases.ts'
import { laneCases } from './lane-cases.ts'
import { putCases } from './put-cases.ts'
import { type Runs, Trial } from './trial.ts'
import { workCases } from './work-cases.ts'

/** The keys of the inboxes of one suite. */
export const SEAL_KEYS = `2026-11:${randomBytes(32).toString('base64')}`

/**
 * Returns the contract of `Inbox` as cases for the test of an engine. Each uses a separate inbox, and all may run concurrently. A worker
 * whose process is killed is one whose clock stops: the tests of an engine must also kill real processes, and prove that `put` rejects
 * while the engine is away.
 *
 * @param makeInbox makes an inbox of that name on the tested engine; called twice for each name, as by two processes
 */
export function inboxSuite(makeInbox: (name: string) => Inbox | Promise<Inbox>) {
  return Object.entries(CASES).map(([name, runCase]) => ({
    name,
    async run() {
      const of = `suite_${crypto.randomUUID().replaceAll('-', '')}`
      const trial = new Trial(await makeInbox(of), await makeInbox(of))
      try {
        await runCase(trial)
      } finally {
        await trial.end()
      }
    },
  }))
}

const CASES: Runs = { ...putCases, ...workCases, ...deathCases, ...deadCases, ...laneCases }
