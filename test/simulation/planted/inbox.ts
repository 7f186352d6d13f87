import { FAULTS_OF_TRIES } from './inbox-tries.ts'
import { FAULTS_OF_WORKERS } from './inbox-workers.ts'
import type { PlantedFault } from './planted-fault.ts'

/** Faults that only runs with an inbox can find. */
export const FAULTS_OF_THE_INBOX: readonly PlantedFault[] = [...FAULTS_OF_TRIES, ...FAULTS_OF_WORKERS].map((fault) => ({
  ...fault,
  theme: 'inbox',
}))
