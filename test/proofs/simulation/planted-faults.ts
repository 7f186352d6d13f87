import { FAULTS_OF_THE_INBOX } from './planted/inbox.ts'
import { FAULTS_OF_ORDER } from './planted/order.ts'
import type { FaultsByFile, PlantedFault } from './planted/planted-fault.ts'
import { FAULTS_OF_THE_RECEIVER } from './planted/receiver.ts'
import { FAULTS_OF_STORES } from './planted/stores.ts'

/** Every planted fault. A bug of the receiver that is found by hand becomes an entry of these tables first. */
export const PLANTED_FAULTS: readonly PlantedFault[] = [
  ...toList(FAULTS_OF_THE_RECEIVER),
  ...toList(FAULTS_OF_STORES),
  ...toList(FAULTS_OF_ORDER),
  ...toList(FAULTS_OF_THE_INBOX).map((fault) => ({ ...fault, theme: 'inbox' as const })),
]

function toList(faults: FaultsByFile): readonly PlantedFault[] {
  return Object.entries(faults).flatMap(([file, byName]) =>
    Object.entries(byName).map(([name, fault]) => ({ ...fault, name, file })),
  )
}
