import { createReceiver, memoryStore } from 'postern'
import { LostClaims } from '../../../adapters/stores/lost-claims.ts'
import { SqliteInboxTable } from '../../../adapters/stores/sqlite/inbox-table.ts'
import { pollInbox } from '../../../src/engine.ts'
import { Engine } from './engine.ts'

/** The subject: the library, the shared parts of its stores, and their engines. Planted faults are bundled from here. */
export const subject = {
  createReceiver,
  memoryStore,
  LostClaims,
  Engine,
  pollInbox,
  SqliteInboxTable,
}

/** The parts from which a run is made. */
export type Subject = typeof subject
