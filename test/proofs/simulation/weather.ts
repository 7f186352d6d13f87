import type { History } from './history.ts'
import type { Fate, FaultPlan, Method } from './plan.ts'
import { Chance } from './random.ts'

type NetworkFault = Extract<FaultPlan, { readonly kind: 'network' }>

interface Storm {
  readonly fault: NetworkFault
  readonly until: number
}

const SETTLING: readonly Method[] = ['complete', 'release', 'commit']

interface Armed {
  readonly process: number
  readonly method: Method | 'any'
  left: number
  readonly fate: Fate
  readonly onMet: () => void
}

/** Time for which a call without an answer keeps its caller waiting. */
const CALL_LIMIT_MS = 3_000

/** Decides the fate of the calls of each process on the network. */
export class Weather {
  readonly #history: History
  readonly #now: () => number
  readonly #storms: Storm[] = []
  readonly #single: Armed[] = []

  constructor(history: History, now: () => number) {
    this.#history = history
    this.#now = now
  }

  /** Makes the network bad for one process, from now on and for a while. */
  begin(fault: NetworkFault): void {
    this.#storms.push({ fault, until: this.#now() + fault.ms })
    this.#history.disturb(fault.process, fault.ms)
  }

  /** Assigns a fate to the nth call from now on. Returns a function that cancels it. */
  arm({ process, method, nth, fate }: Extract<FaultPlan, { readonly kind: 'call' }>, onMet: () => void): () => void {
    const armed = { process, method, left: nth, fate, onMet }
    this.#single.push(armed)
    return () => {
      armed.left = -1
    }
  }

  /** Returns the fate of the next call of a process; undefined for nothing unusual. `luck` names the call. */
  fateOf(process: number, method: Method, luck: string): Fate | undefined {
    const fate = this.#singleFate(process, method) ?? this.#stormFate(process, method, luck)
    if (fate === undefined) return undefined
    // A process learns of a lost call only when its time is over.
    const ms = 'ms' in fate ? fate.ms : fate.kind.endsWith('lost') ? CALL_LIMIT_MS : 0
    this.#history.disturb(process, Math.min(ms, CALL_LIMIT_MS))
    return fate
  }

  #singleFate(process: number, method: Method): Fate | undefined {
    let met: Fate | undefined
    for (const armed of this.#single) {
      const isMeant = armed.process === process && (armed.method === 'any' || armed.method === method)
      if (!isMeant || armed.left-- !== 0) continue
      met = armed.fate
      armed.onMet()
    }
    return met
  }

  #stormFate(process: number, method: Method, luck: string): Fate | undefined {
    for (const { fault, until } of this.#storms) {
      if (fault.process !== process || until < this.#now()) continue
      const chance = new Chance(fault.seed, luck)
      if (!chance.happens(fault.probability)) continue
      return (SETTLING.includes(method) ? fault.settling : undefined) ?? chance.pick(fault.fates)
    }
    return undefined
  }
}
