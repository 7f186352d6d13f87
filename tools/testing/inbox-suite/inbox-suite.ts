import type { Inbox } from '../../../src/inbox/inbox.ts'
import { deadCases } from './dead-cases.ts'
import { deathCases } from './death-cases.ts'
import { putCases } from './put-cases.ts'
import { type Runs, Trial } from './trial.ts'
import { workCases } from './work-cases.ts'

/** Requirement of every inbox, as a case for a test runner. */
export interface InboxCase {
  readonly name: string
  /** Rejects if the inbox does not meet it. All cases may run concurrently. */
  run(): Promise<void>
}

/**
 * Returns the contract of `Inbox` as cases for any test runner. An engine is supported if it passes all of them. Each case uses a
 * separate inbox. A worker whose process is killed is one whose clock stops: the tests of an engine must also kill real processes, and
 * prove that `put` rejects while the engine is away.
 *
 * @param makeInbox makes an inbox of that name on the tested engine; called twice for each name, as by two processes
 * @example
 * for (const { name, run } of inboxSuite((table) => sqliteInbox({ database, table }))) test(name, run)
 */
export function inboxSuite(makeInbox: (name: string) => Inbox | Promise<Inbox>): readonly InboxCase[] {
  return Object.entries(CASES).map(([name, run]) => ({
    name,
    async run() {
      const of = `suite_${crypto.randomUUID().replaceAll('-', '')}`
      const trial = new Trial(await makeInbox(of), await makeInbox(of))
      try {
        await run(trial)
      } finally {
        await trial.end()
      }
    },
  }))
}

const CASES: Runs = { ...putCases, ...workCases, ...deathCases, ...deadCases }
