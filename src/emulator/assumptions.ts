import { API_ASSUMPTIONS } from './api-assumptions.ts'
import { EVENT_ASSUMPTIONS } from './event-assumptions.ts'

/** Question that the service text leaves open, with its possible answers. */
export interface Assumption {
  /** Number in the documentation, which may be used instead of the name. */
  readonly id: string
  readonly subject: string
  /** Value that applies unless another is chosen. */
  readonly default: string
  /** Possible values, each with its meaning. */
  readonly values: Readonly<Record<string, string>>
}

/** Everything that the service text marks as not shown, by name. Options, routes, documentation and the page all read this table. */
export const ASSUMPTIONS = { ...API_ASSUMPTIONS, ...EVENT_ASSUMPTIONS } as const satisfies Readonly<
  Record<string, Assumption>
>

export type AssumptionName = keyof typeof ASSUMPTIONS
export type AssumptionId = (typeof ASSUMPTIONS)[AssumptionName]['id']

/** A value for each assumption. */
export type Assumed = {
  readonly [Name in AssumptionName]: `${keyof (typeof ASSUMPTIONS)[Name]['values'] & (string | number)}`
}

/** Values for some assumptions, by name or by id. */
export type AssumedOptions = Partial<
  Assumed & { readonly [Name in AssumptionName as (typeof ASSUMPTIONS)[Name]['id']]: Assumed[Name] }
>
