import { benchEngines } from './engines.ts'
import { benchTenants } from './tenants.ts'

/**
 * Measures the figures of the guide to scaling: the limits of engines and processes, and how tenants of very unequal load share a receiver.
 */
export async function benchScale({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  await benchTenants(isQuick)
  await benchEngines(isQuick)
}
