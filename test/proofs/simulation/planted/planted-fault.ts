import type { Theme } from '../plan.ts'

/** A mistake that the simulation must find. */
export interface PlantedFault {
  readonly name: string
  /** The source file that it is in. */
  readonly file: string
  readonly breaks: string
  /** A seed that is known to find it: the search begins with it. */
  readonly from: number
  /** The theme of the runs that can find it; any, unless one is named. */
  readonly theme?: Theme
  /** Texts of the file, each of which must occur exactly once, and what replaces them. */
  readonly edits: Readonly<Record<string, string>>
}

/** Faults by the file that they are in, and by name. */
export type FaultsByFile = Readonly<Record<string, Readonly<Record<string, Omit<PlantedFault, 'name' | 'file'>>>>>
