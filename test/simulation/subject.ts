import { createReceiver, memoryStore } from 'postern'
import { Engine } from './engine.ts'

/** What is judged: the library, and the engine that it stands on. Planted faults are bundled from here. */
export const subject = { createReceiver, memoryStore, Engine }

/** The parts that a run is made with. */
export type Subject = typeof subject
