import { createReceiver, memoryStore, pollInbox } from 'postern'
import { LostClaims } from '../../adapters/stores/lost-claims.ts'
import { SqliteInboxTable } from '../../adapters/stores/sqlite/inbox-table.ts'
import { Engine } from './engine.ts'
import { PlainInboxEngine } from './inbox/inbox-engine.ts'

/** What is judged: the library, what its stores have in common, the engines that it stands on. Planted faults are bundled from here. */
export const subject = {
  createReceiver,
  memoryStore,
  LostClaims,
  Engine,
  pollInbox,
  PlainInboxEngine,
  SqliteInboxTable,
}

/** The parts that a run is made with. */
export type Subject = typeof subject
