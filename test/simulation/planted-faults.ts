import { FAULTS_OF_CLAIMS } from './planted/claims.ts'
import { FAULTS_OF_DELIVERIES } from './planted/deliveries.ts'
import { FAULTS_OF_THE_INBOX } from './planted/inbox.ts'
import { FAULTS_OF_ORDER } from './planted/order.ts'
import type { PlantedFault } from './planted/planted-fault.ts'
import { FAULTS_OF_STORES } from './planted/stores.ts'
import { FAULTS_OF_THE_WORK } from './planted/work.ts'

/** Every planted fault. A bug of the receiver that is found by hand becomes a row of these tables first. */
export const PLANTED_FAULTS: readonly PlantedFault[] = [
  ...FAULTS_OF_CLAIMS,
  ...FAULTS_OF_THE_WORK,
  ...FAULTS_OF_DELIVERIES,
  ...FAULTS_OF_STORES,
  ...FAULTS_OF_ORDER,
  ...FAULTS_OF_THE_INBOX,
]
