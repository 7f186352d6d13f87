import type { Theme } from '../plan.ts'

/** A text of a source file, and its replacement. It must occur exactly once. */
interface Edit {
  readonly file: string
  readonly find: string
  readonly replace: string
}

/** A mistake that the simulation must find. */
export interface PlantedFault {
  readonly name: string
  readonly breaks: string
  /** A seed that is known to find it: the search begins with it. */
  readonly from: number
  /** The theme of the runs that can find it; any, unless one is named. */
  readonly theme?: Theme
  readonly edits: readonly Edit[]
}
