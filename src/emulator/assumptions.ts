import { API_ASSUMPTIONS } from './api-assumptions.ts'
import { EVENT_ASSUMPTIONS } from './event-assumptions.ts'

/** One thing that the service text leaves open, and the ways in which the service may be. */
export interface Assumption {
  /** Its number in the documents, which stands for its name wherever it is named. */
  readonly id: string
  readonly subject: string
  /** Value that holds unless another is chosen. */
  readonly default: string
  /** Each value, with what it means. */
  readonly values: Readonly<Record<string, string>>
}

/** Everything that the service text marks as not shown, by name. The one source: options, routes, documents and the page read it here. */
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
