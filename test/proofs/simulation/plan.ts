import type { InboxPlan } from './inbox/inbox-plan.ts'

/**
 * A seed's draws, as plain data. A run follows its plan and draws nothing of importance itself, so that elements can be removed from a plan
 * one by one until the shortest plan is left that still fails. Times are milliseconds from the start.
 */
export interface Plan {
  readonly seed: number
  readonly theme: Theme
  readonly engine: EngineKind
  readonly settings: SettingsPlan
  /** Undefined: handlers run before the answer. */
  readonly inbox: InboxPlan | undefined
  readonly secrets: SecretsPlan
  /** One for each process, the clock of each being wrong by this much. */
  readonly clockSkewsMs: readonly number[]
  /** The handlers of the first deployment. */
  readonly handlers: readonly HandlerPlan[]
  readonly events: readonly EventPlan[]
  readonly intruders: readonly IntruderPlan[]
  readonly faults: readonly FaultPlan[]
}

/**
 * `memory`: the library's own store, for one process. `shared file`: an engine in the process itself, which answers immediately and
 * outlives the process, as SQLite does. `network`: an engine behind a network. `transactions`: an engine behind a network in which handlers
 * can write.
 */
export type EngineKind = 'memory' | 'shared file' | 'network' | 'transactions'

/** The account whose events are sent. */
export const ACCOUNTS = ['account-a', 'account-b', 'account-c'] as const

/**
 * The main subject of a run. `contention`: few events with many duplicates, long handlers, and processes that lose their claims to each
 * other. `inbox`: receivers with an inbox, which plans of no other theme have.
 */
export type Theme = DirectTheme | 'inbox'
export type DirectTheme = 'anything' | 'contention' | 'transactions'

export interface SettingsPlan {
  readonly leaseMs: number
  readonly deadlineMs: number
  readonly handlerTimeoutMs: number
  readonly retentionMs: number
  readonly maxInFlight: number
  /** The number of events that the memory store keeps. */
  readonly memoryMax: number
  /** The longest time of a call on its way to the engine, or of an answer back, without faults. */
  readonly latencyMs: number
  /** True: a process that wakes from a stall runs its timers before its input, as Node does. */
  readonly timersFirst: boolean
  readonly schema: 'none' | 'sync' | 'async'
  readonly interceptor: InterceptorKind
  /** True: the hooks and the logger of the app throw whenever they are called. */
  readonly isOwnerClumsy: boolean
}

/** The way in which the interceptor of a run treats the handler that it wraps. */
export type InterceptorKind = 'none' | 'returns it' | 'awaits it' | 'forgets it' | 'calls it twice' | 'skips it'

export interface SecretsPlan {
  readonly form: 'one' | 'list' | 'bound' | 'function' | 'function of the account'
  readonly isAsync: boolean
  /** The time at which the sender begins to sign with the second secret. */
  readonly rotatesAt: number | undefined
}

export interface HandlerPlan {
  readonly pattern: string
  /** Undefined leaves the handler without its own name: it is known by its pattern. */
  readonly name: string | undefined
  readonly isTransactional: boolean
  /** Registered with `order: 'latest'`. */
  readonly isOrdered: boolean
}

export interface EventPlan {
  readonly seed: number
  readonly number: number
  readonly id: string
  readonly account: string
  readonly type: string
  /** The `_id` of its record, if it is about one. */
  readonly record: string
  readonly timestamp: string
  /** The time of the first attempt. */
  readonly at: number
  /** Further deliveries of the event, each so long after the first attempt. */
  readonly duplicatesAfterMs: readonly number[]
  /** Attempts, counted from 0, whose answer never reaches the sender. */
  readonly lostAnswers: readonly number[]
  readonly troubles: readonly TroublePlan[]
}

/** The course of one run of one handler, if it does not simply succeed. Runs of a handler for an event are counted from 0. */
export interface TroublePlan {
  /** The handler's name; `the schema` for the schema of the event's model. */
  readonly handler: string
  readonly run: number
  readonly behaviour: Behaviour
  /** The handler changes the event that it got. */
  readonly mutates: boolean
}

export const SCHEMA = 'the schema'

/** `ms: 0` is done synchronously. `thrown` chooses among odd values. */
export type Behaviour =
  | { readonly kind: 'succeeds'; readonly ms: number }
  | { readonly kind: 'fails'; readonly ms: number; readonly thrown: number }
  | { readonly kind: 'hangs' }
  | { readonly kind: 'obeys the abort' }
  | { readonly kind: 'succeeds after the abort'; readonly ms: number }
  | { readonly kind: 'fails after the abort'; readonly ms: number }
  | { readonly kind: 'refuses' }
  | { readonly kind: 'commits, then fails'; readonly ms: number }
  | { readonly kind: 'commits, then hangs' }
  | { readonly kind: 'does not await its transaction'; readonly ms: number; readonly rollsBack: boolean }
  | { readonly kind: 'rolls back' }
  | { readonly kind: 'works long in its transaction'; readonly ms: number }
  | { readonly kind: 'begins two transactions' }
  | { readonly kind: 'throws DeadLetter'; readonly ms: number }
  | { readonly kind: 'throws RetryLater'; readonly ms: number; readonly delayMs: number }
  | { readonly kind: 'kills its process'; readonly ms: number }

/** A delivery that must be refused. */
export interface IntruderPlan {
  readonly seed: number
  readonly number: number
  readonly kind:
    | 'forged'
    | 'forged duplicate'
    | 'unsigned'
    | 'tampered'
    | 'malformed'
    | 'other account'
    | 'retired secret'
  readonly at: number
  /** The event that is imitated, by its number. */
  readonly event: number
}

interface OfProcess {
  readonly process: number
  readonly at: number
}

/**
 * `step` counts the process's steps from `at` on: it happens at that very step, in the middle of everything under way. A clock jumps while
 * the next slow body after `at` arrives.
 */
export type FaultPlan =
  | (OfProcess & { readonly kind: 'kill'; readonly step: number | undefined; readonly downMs: number })
  | (OfProcess & {
      readonly kind: 'close'
      readonly timeoutMs: number
      readonly listensMs: number
      readonly downMs: number
    })
  | (OfProcess & { readonly kind: 'stall'; readonly step: number | undefined; readonly ms: number })
  | (OfProcess & { readonly kind: 'clock jump'; readonly byMs: number })
  | (OfProcess & {
      readonly kind: 'call'
      readonly method: Method | 'any'
      readonly nth: number
      readonly fate: Fate
    })
  | (OfProcess & {
      readonly kind: 'network'
      readonly ms: number
      readonly seed: number
      readonly probability: number
      readonly fates: readonly [Fate, ...Fate[]]
      /** The fate of `complete`, `release` and `commit`, if it differs. */
      readonly settling?: Fate
    })
  | {
      readonly kind: 'deploy'
      readonly at: number
      readonly handlers: readonly HandlerPlan[]
      readonly isGraceful: boolean
    }
  | { readonly kind: 'freeze' | 'restart' | 'refuse'; readonly at: number; readonly ms: number }
  /** A restart without the last changes: they were not on disk yet, or a replica that lags takes over. */
  | { readonly kind: 'lose'; readonly at: number; readonly ms: number; readonly lostMs: number }
  /** The engine's memory is full: it drops keys. */
  | { readonly kind: 'evict'; readonly at: number; readonly seed: number; readonly share: number }
  | { readonly kind: 'secrets'; readonly at: number; readonly ms: number; readonly how: 'throws' | 'hangs' | 'is slow' }

/** A call of a process to the engine: the store's methods, those of transactions, and the inbox's. `keep` renews a worker's items. */
export type Method = 'claim' | 'renew' | 'complete' | 'release' | 'begin' | 'write' | 'commit' | InboxMethod

export type InboxMethod = 'put' | 'take' | 'keep' | 'settle'

export type FaultKind = FaultPlan['kind']

/** The fate of one call on the network. `cut`: the caller gets a rejection. */
export type Fate =
  | { readonly kind: 'request lost' | 'answer lost' | 'cut before' }
  | { readonly kind: 'request late' | 'answer late' | 'doubled' | 'cut, carried out later'; readonly ms: number }

/** Returns whether an event type matches a pattern of `receiver.on`. */
function isMatch(pattern: string, type: string): boolean {
  if (pattern === '*' || pattern === type) return true
  const [model = '', action = '', more] = type.split('.')
  if (more !== undefined || !['created', 'updated', 'deleted'].includes(action)) return false
  return pattern === `${model}.*` || pattern === `*.${action}`
}

/** Returns the handlers that run for an event type. */
export function handlersOf(handlers: readonly HandlerPlan[], type: string): readonly HandlerPlan[] {
  return handlers.filter(({ pattern }) => isMatch(pattern, type))
}

/** Returns the name of a handler's finish mark. */
export function nameOf({ name, pattern }: HandlerPlan): string {
  return name ?? pattern
}
