import { createReceiver, memoryStore } from 'postern'
import { LostClaims } from '../../adapters/stores/lost-claims.ts'
import { Engine } from './engine.ts'

/** What is judged: the library, what its stores have in common, and the engine that it stands on. Planted faults are bundled from here. */
export const subject = { createReceiver, memoryStore, LostClaims, Engine }

/** The parts that a run is made with. */
export type Subject = typeof subject
