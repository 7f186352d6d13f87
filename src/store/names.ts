import { ConfigurationError } from '../protocol/errors.ts'
import type { Store } from './store.ts'

/** Two receivers of one name would take each other's events for duplicates. */
const namesByStore = new WeakMap<Store, Map<string, object>>()

/** @throws ConfigurationError `store_shared` */
export function takeName(store: Store, name: string, receiver: object): void {
  const names = namesByStore.get(store) ?? new Map<string, object>()
  if (names.has(name))
    throw new ConfigurationError(
      'store_shared',
      `A receiver named "${name}" stands on this store already, and each would take the other's events for duplicates. Give one of them another name: createReceiver({ name: '…' }). A receiver that is closed gives its name back.`,
    )
  namesByStore.set(store, names.set(name, receiver))
}

/** Only what it holds itself: a receiver that is closed twice must not free the name of its successor. */
export function releaseName(store: Store, name: string, receiver: object): void {
  const names = namesByStore.get(store)
  if (names?.get(name) === receiver) names.delete(name)
}
