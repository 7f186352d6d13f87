import type { Inbox } from '../../inbox/inbox.ts'
import { deadCases } from './dead-cases.ts'
import { putCases } from './put-cases.ts'
import { type CaseDefinition, Trial } from './trial.ts'
import { workCases } from './work-cases.ts'

/** One thing that every inbox must do. */
export interface InboxCase {
  readonly name: string
  /** Rejects where the inbox does not do it. All cases may run at the same time. */
  run(): Promise<void>
}

/**
 * The contract of `Inbox` as cases for any test runner, which is how an engine becomes a supported one. Each works on an inbox of its
 * own. What happens to the items of a process that is killed, the suite cannot try: the engine's own tests have to.
 *
 * @param makeInbox makes an inbox of that name on the engine that is tried; called twice for each name, as by two processes
 * @example
 * for (const { name, run } of inboxSuite((table) => sqliteInbox({ database, table }))) test(name, run)
 */
export function inboxSuite(makeInbox: (name: string) => Inbox | Promise<Inbox>): readonly InboxCase[] {
  return CASES.map(({ name, run }) => ({
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

const CASES: readonly CaseDefinition[] = [...putCases, ...workCases, ...deadCases]
