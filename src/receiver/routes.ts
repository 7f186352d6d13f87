import type { Logger } from '../host/logger.ts'
import { readNodeEnv } from '../host/node-env.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import {
  ACTIONS,
  type Action,
  type AnyEvent,
  NAMED_MODELS,
  SERVICE_EVENT_TYPES,
  splitType,
} from '../protocol/events.ts'
import {
  type About,
  canMeet,
  type EventPattern,
  findDoubt,
  findMisspelt,
  NO_RECORD,
  parsePattern,
  parsePlainPattern,
  takes,
} from '../protocol/pattern.ts'
import { isTypeOnly, type StandardSchema } from '../protocol/schema.ts'
import type { Sender } from '../protocol/sender.ts'
import { show } from '../protocol/show.ts'
import type { Handler, HandlerOptions } from './handler.ts'
import { checkHandlerOptions, mustBeHandler } from './handler-options.ts'
import { type Interceptor, intercept } from './intercept.ts'
import type { ReceiverSettings } from './options.ts'
import { Untaken } from './untaken.ts'

const REOPENED =
  'Handlers are registered after the first delivery, or after one was refused. Since NODE_ENV is "development", each replaces the handler with the same pattern and name: their module was reloaded. A handler that was removed from the code runs until the server is restarted. Interceptors that are registered now replace all earlier ones. In production this is an error.'

/** A handler with its final name, wrapped by the interceptors. */
export interface NamedHandler {
  readonly name: string
  readonly call: Handler<AnyEvent>
  readonly order: HandlerOptions['order']
}

/** Handlers and schema of an event type. */
export interface Route extends About {
  readonly handlers: readonly NamedHandler[]
  /** True if one of them has an order. */
  readonly isOrdered: boolean
  /** For model events the schema of the record, else of `data`. */
  readonly schema: StandardSchema | undefined
}

/** The event types that a receiver handles. */
export type EventTypes = {
  /** Exact types, to be named in a webhook's `events`. */
  readonly types: readonly string[]
  /** True if a wildcard also takes types beyond these, such as `*.deleted` of models that were not declared. */
  readonly open: boolean
}

interface Registration {
  /** The handler runs once for an event that several of them match. */
  readonly patterns: readonly EventPattern[]
  /** The patterns as code. */
  readonly text: string
  readonly name: string
  /** True if the patterns are the name. */
  readonly isUnnamed: boolean
  readonly order: HandlerOptions['order']
  readonly handler: Handler<AnyEvent>
  readonly generation: number
}

interface Built {
  readonly byType: ReadonlyMap<string, Route>
  readonly byAction: ReadonlyMap<Action, Route>
  readonly others: Route
}

/** Registers patterns and handlers, and then finds the route of an event type. */
export class Routes {
  readonly #models: ReadonlyMap<string, StandardSchema> | undefined
  readonly #events: ReadonlyMap<string, StandardSchema>
  /** Set if the types of events are plain text, without models and actions. */
  readonly #sender: Sender<unknown> | undefined
  readonly #keepsPositions: boolean
  readonly #logger: Logger
  #registrations: Registration[] = []
  #interceptors: Interceptor[] = []
  /** Number of times that registration began again, which only happens in development. */
  #generation = 0
  /** True if the last handler was refused: in development, its module may be loaded again with a fix. */
  #wasRefused = false
  /** The generation of all interceptors. */
  #interceptedIn = 0
  #built: Built | undefined
  readonly #untaken: Untaken

  constructor(
    { models, events, protocol, store }: Pick<ReceiverSettings, 'models' | 'events' | 'protocol' | 'store'>,
    logger: Logger,
  ) {
    this.#models = models
    this.#events = events
    this.#sender = protocol.sender
    this.#keepsPositions = store.keepsPositions === true
    this.#logger = logger
    this.#untaken = new Untaken(logger, models)
  }

  get isEmpty(): boolean {
    return this.#registrations.length === 0
  }

  /** @param given one pattern, or a list of patterns */
  add(given: unknown, options: unknown, handler: unknown): void {
    this.#open('on')
    this.#wasRefused = true
    this.#add(given, options, handler)
    this.#wasRefused = false
  }

  #add(given: unknown, options: unknown, handler: unknown): void {
    const parse = (text: unknown) =>
      this.#sender === undefined
        ? parsePattern(text, this.#models, this.#events)
        : parsePlainPattern(text, this.#events, this.#sender)
    // An empty list is refused like a pattern that matches nothing.
    const patterns = Array.isArray(given) && given.length > 0 ? given.map(parse) : [parse(given)]
    const texts = [...new Set(patterns.map((pattern) => pattern.text))].sort() // their order may change as code is edited
    const text = texts.length === 1 ? `'${texts[0]}'` : `[${texts.map((each) => `'${each}'`).join(', ')}]`
    mustBeHandler(handler, text)
    const { name: givenName, order } = checkHandlerOptions(options, text, this.#whyNoOrder(patterns))
    const registration: Registration = {
      patterns,
      text,
      name: givenName ?? texts.join(','),
      isUnnamed: givenName === undefined,
      order,
      handler,
      generation: this.#generation,
    }
    const kept = this.#registrations.filter((other) => !this.#isReplaced(other, registration))
    this.#registrations = [...kept, registration]
    for (const pattern of patterns) {
      const isOpen = this.#models === undefined && this.#sender === undefined
      const doubt = isOpen ? findDoubt(pattern) : this.#sender && findMisspelt(pattern, this.#events)
      if (doubt !== undefined) this.#logger.warn({ code: 'pattern_invalid' }, doubt)
    }
  }

  /** Returns why these patterns cannot have `order: 'latest'`, if they cannot. */
  #whyNoOrder(patterns: readonly EventPattern[]): string | undefined {
    if (
      this.#sender !== undefined ||
      patterns.some((pattern) => pattern.kind === 'type' && pattern.model === undefined)
    )
      return "order: 'latest' compares events of one record, and this type is about none. Leave it out, or give a pattern of a model."
    if (!this.#keepsPositions)
      return "order: 'latest' needs a store that keeps positions, and this one does not say keepsPositions: true. The stores of this package do; docs/guides/own-store.md says how to add it."
    return undefined
  }

  intercept(interceptor: Interceptor): void {
    this.#open('intercept')
    if (typeof interceptor !== 'function')
      throw new ConfigurationError('handler_invalid', `.intercept() takes a function, not ${show(interceptor)}.`)
    if (this.#interceptedIn !== this.#generation) this.#interceptors = []
    this.#interceptedIn = this.#generation
    this.#interceptors.push(interceptor)
  }

  /** Returns the route of an event type; undefined if no handler takes it. The first call ends registration. */
  find(type: string): Route | undefined {
    const route = this.#find(type)
    if (route !== undefined) this.#untaken.end(type)
    else this.#untaken.add(type, this.#registrations)
    return route
  }

  #find(type: string): Route | undefined {
    this.#built ??= this.#build()
    const exact = this.#built.byType.get(type)
    if (exact !== undefined) return exact
    if (this.#sender !== undefined) return this.#findPlain(this.#built, type)
    const about = splitType(type)
    const shared = about === undefined ? this.#built.others : this.#built.byAction.get(about.action)
    if (shared === undefined || shared.handlers.length === 0) return undefined
    return about === undefined ? shared : { ...shared, model: about.model }
  }

  /** Returns the route of a type that only wildcards take. */
  #findPlain({ others }: Built, type: string): Route | undefined {
    const matches = (pattern: EventPattern) => takes(pattern, type, NO_RECORD)
    const isPrefixed = this.#registrations.some(({ patterns }) =>
      patterns.some((pattern) => pattern.kind === 'prefix' && matches(pattern)),
    )
    const route = isPrefixed ? this.#toRoute(matches, NO_RECORD) : others
    return route.handlers.length === 0 ? undefined : route
  }

  eventTypes(): EventTypes {
    const types = new Set<string>()
    let open = false
    for (const pattern of this.#registrations.flatMap(({ patterns }) => patterns)) {
      if (pattern.kind === 'type') types.add(pattern.text)
      else if (pattern.kind === 'model') for (const action of ACTIONS) types.add(`${pattern.model}.${action}`)
      else {
        open = true
        for (const type of this.#known()) if (takes(pattern, type, this.#aboutOf(type))) types.add(type)
      }
    }
    return { types: [...types], open }
  }

  /** Returns the types that a wildcard may take, as far as they are known. */
  #known(): readonly string[] {
    if (this.#sender !== undefined) return [...this.#events.keys()]
    const models = [...(this.#models?.keys() ?? NAMED_MODELS)]
    const ofModels = models.flatMap((model) => ACTIONS.map((action) => `${model}.${action}`))
    return [...ofModels, ...SERVICE_EVENT_TYPES, ...this.#events.keys()]
  }

  #aboutOf(type: string): About {
    return this.#sender !== undefined || this.#events.has(type) ? NO_RECORD : (splitType(type) ?? NO_RECORD)
  }

  /** Reopens registration in development, after the module that registers was reloaded. */
  #open(method: string): void {
    const isDevelopment = readNodeEnv() === 'development'
    if (this.#built === undefined && !(this.#wasRefused && isDevelopment)) return
    if (!isDevelopment)
      throw new ConfigurationError(
        'registration_frozen',
        `.${method}() was called after the first delivery. Register every handler before the receiver is mounted: an event that came in between would have been acknowledged without it.`,
      )
    this.#built = undefined
    this.#generation++
    this.#logger.warn({ code: 'registration_frozen' }, REOPENED)
  }

  /**
   * Returns true if `added` replaces `other`, since the module of the handler was reloaded.
   *
   * @throws ConfigurationError `handler_unnamed`, `handler_name_clash`
   */
  #isReplaced(other: Registration, added: Registration): boolean {
    const isApart = !added.patterns.some((one) => other.patterns.some((another) => canMeet(one, another)))
    if (added.name !== other.name || isApart) return false
    if (other.generation < added.generation) return true
    const { text } = added
    const fix = `.on(${text}, { name: '…' }, handler)`
    if (added.isUnnamed && other.isUnnamed)
      throw new ConfigurationError(
        'handler_unnamed',
        `This is the second handler for ${text} without a name. Finish marks are stored by the names of handlers, which must stay the same if a deployment adds, removes or reorders handlers: give this one a name, ${fix}.`,
      )
    throw new ConfigurationError(
      'handler_name_clash',
      `Two handlers named "${added.name}" can run for one event (patterns ${other.text} and ${text}), and the finish mark of one would count for the other. Give one of them another name: ${fix}.`,
    )
  }

  #build(): Built {
    const byType = new Map<string, Route>()
    for (const type of this.eventTypes().types) {
      const about = this.#aboutOf(type)
      byType.set(
        type,
        this.#toRoute((pattern) => takes(pattern, type, about), about, this.#schemaOf(type, about)),
      )
    }
    const toShared = (action: Action | undefined) =>
      this.#toRoute((pattern) => pattern.kind === 'all' || (pattern.kind === 'action' && pattern.action === action), {
        model: undefined,
        action,
      })
    const byAction = new Map(ACTIONS.map((action) => [action, toShared(action)]))
    return { byType, byAction, others: toShared(undefined) }
  }

  #toRoute(matches: (pattern: EventPattern) => boolean, about: About, schema?: StandardSchema): Route {
    const handlers = this.#registrations
      .filter(({ patterns }) => patterns.some(matches))
      .map(({ name, order, handler }) => ({ name, order, call: this.#wrap(name, handler) }))
    return { ...about, handlers, isOrdered: handlers.some(({ order }) => order !== undefined), schema }
  }

  #schemaOf(type: string, { model, action }: About): StandardSchema | undefined {
    if (action === 'deleted') return undefined
    const schema = model === undefined ? this.#events.get(type) : this.#models?.get(model)
    return schema === undefined || isTypeOnly(schema) ? undefined : schema
  }

  /** The first interceptor is the outermost one. */
  #wrap(name: string, handler: Handler<AnyEvent>): Handler<AnyEvent> {
    return this.#interceptors.reduceRight((inner, interceptor) => intercept(inner, interceptor, name), handler)
  }
}
