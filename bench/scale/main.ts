import { benchEngines } from './engines.ts'
import { benchTenants } from './tenants.ts'

/** What stands in the guide to scaling: what engines and processes bear, and how tenants of very unequal load share a receiver. */
export async function benchScale({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  await benchTenants(isQuick)
  await benchEngines(isQuick)
}
