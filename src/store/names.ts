import { readNodeEnv } from '../host/node-env.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import type { Store } from './store.ts'

/** Two receivers of one name would take each other's events for duplicates. */
const namesByStore = new WeakMap<Store, Map<string, NameHolder>>()

/** A receiver, as its store knows it. */
export interface NameHolder {
  /** A newer receiver has taken the name. Only development servers let that happen. */
  replaced(): void
}

/**
 * Returns the receiver that had the name before, in development: its module was loaded again.
 *
 * @throws ConfigurationError `store_shared`
 */
export function takeName(store: Store, name: string, receiver: NameHolder): NameHolder | undefined {
  const names = namesByStore.get(store) ?? new Map<string, NameHolder>()
  const holder = names.get(name)
  if (holder !== undefined && readNodeEnv() !== 'development')
    throw new ConfigurationError(
      'store_shared',
      `A receiver named "${name}" uses this store already, and each would treat the other's events as duplicates. Give one of them another name: { name: '…' }. A receiver that is closed releases its name.`,
    )
  namesByStore.set(store, names.set(name, receiver))
  return holder
}

/** Only what it holds itself: a receiver that is closed twice must not free the name of its successor. */
export function releaseName(store: Store, name: string, receiver: NameHolder): void {
  const names = namesByStore.get(store)
  if (names?.get(name) === receiver) names.delete(name)
}
