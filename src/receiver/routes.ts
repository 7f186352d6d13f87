import { ConfigurationError } from '../protocol/errors.ts'
import { ACTIONS, SERVICE_EVENT_TYPES, splitType } from '../protocol/event-type.ts'
import type { Action, AnyEvent } from '../protocol/events.ts'
import { isTypeOnly, type StandardSchema } from '../protocol/schema.ts'
import type { Handler, HandlerContext, HandlerOptions } from './handler.ts'
import { show } from './show.ts'

/** Wraps each run of a handler. Must return what `run` returns, or a promise that ends after it. */
export type Interceptor = (run: () => unknown, event: AnyEvent, context: HandlerContext, handlerName: string) => unknown

/** A handler ready to run: its name is final, and the interceptors are around it. */
export interface NamedHandler {
  readonly name: string
  readonly run: Handler<AnyEvent>
}

/** All that is known of an event type: who handles it, and how its data is checked. */
export interface Route {
  readonly handlers: readonly NamedHandler[]
  readonly model: string | undefined
  readonly action: Action | undefined
  /** For model events the schema of the record, else of `data`. */
  readonly schema: StandardSchema | undefined
}

/** The event types that a receiver handles. */
export interface EventTypes {
  /** Exact types, to be named in a webhook's `events`. */
  readonly types: readonly string[]
  /** Whether a wildcard also takes types beyond these, such as `*.deleted` of models that were not declared. */
  readonly open: boolean
}

interface Registration {
  readonly pattern: Pattern
  readonly givenName: string | undefined
  readonly handler: Handler<AnyEvent>
}

type Pattern =
  | { readonly kind: 'all'; readonly text: string }
  | { readonly kind: 'action'; readonly text: string; readonly action: Action }
  | { readonly kind: 'model'; readonly text: string; readonly model: string }
  | {
      readonly kind: 'type'
      readonly text: string
      readonly model: string | undefined
      readonly action: Action | undefined
    }

/** Patterns and their handlers while they are registered, and the look-up from event type to route once that is over. */
export class Routes {
  readonly #models: ReadonlyMap<string, StandardSchema> | undefined
  readonly #events: ReadonlyMap<string, StandardSchema>
  readonly #registrations: Registration[] = []
  readonly #interceptors: Interceptor[] = []
  #built:
    | {
        readonly byType: ReadonlyMap<string, Route>
        readonly byAction: ReadonlyMap<Action, Route>
        readonly others: Route
      }
    | undefined

  constructor(models: ReadonlyMap<string, StandardSchema> | undefined, events: ReadonlyMap<string, StandardSchema>) {
    this.#models = models
    this.#events = events
  }

  get isEmpty(): boolean {
    return this.#registrations.length === 0
  }

  add(text: unknown, options: HandlerOptions, handler: unknown): void {
    this.#mustBeOpen('on')
    const pattern = this.#parsePattern(text)
    if (typeof handler !== 'function')
      throw new ConfigurationError(
        'handler_invalid',
        `The handler for "${pattern.text}" is ${show(handler)}; give a function: .on('${pattern.text}', async (event) => { … }).`,
      )
    const givenName = checkName(options, pattern.text)
    // The event's type follows from the pattern; the types of .on() hold the two together.
    const registration: Registration = { pattern, givenName, handler: handler as Handler<AnyEvent> }
    this.#refuseClash(registration)
    this.#registrations.push(registration)
  }

  intercept(interceptor: Interceptor): void {
    this.#mustBeOpen('intercept')
    if (typeof interceptor !== 'function')
      throw new ConfigurationError('handler_invalid', `.intercept() takes a function, not ${show(interceptor)}.`)
    this.#interceptors.push(interceptor)
  }

  /** The route of an event type; undefined where no handler takes it. The first call ends registration. */
  find(type: string): Route | undefined {
    this.#built ??= this.#build()
    const exact = this.#built.byType.get(type)
    if (exact !== undefined) return exact
    const about = splitType(type)
    const shared = about === undefined ? this.#built.others : this.#built.byAction.get(about.action)
    if (shared === undefined || shared.handlers.length === 0) return undefined
    return about === undefined ? shared : { ...shared, model: about.model }
  }

  eventTypes(): EventTypes {
    const types = new Set<string>()
    let open = false
    const models = [...(this.#models?.keys() ?? [])]
    for (const { pattern } of this.#registrations) {
      if (pattern.kind === 'type') types.add(pattern.text)
      else if (pattern.kind === 'model') for (const action of ACTIONS) types.add(`${pattern.model}.${action}`)
      else {
        open = true
        for (const model of models)
          for (const action of ACTIONS)
            if (pattern.kind === 'all' || pattern.action === action) types.add(`${model}.${action}`)
        if (pattern.kind === 'all') for (const type of [...SERVICE_EVENT_TYPES, ...this.#events.keys()]) types.add(type)
      }
    }
    return { types: [...types], open }
  }

  #mustBeOpen(method: string): void {
    if (this.#built === undefined) return
    throw new ConfigurationError(
      'registration_frozen',
      `.${method}() was called after the first delivery. Register every handler before the receiver is mounted: an event that came in between would have been acknowledged without it.`,
    )
  }

  #parsePattern(text: unknown): Pattern {
    if (typeof text !== 'string' || text === '')
      throw new ConfigurationError(
        'pattern_invalid',
        `.on() takes a pattern such as 'contact.created', not ${show(text)}.`,
      )
    if (text === '*') return { kind: 'all', text }
    if (this.#events.has(text)) return { kind: 'type', text, model: undefined, action: undefined }
    const dot = text.indexOf('.')
    const [model, rest] = [text.slice(0, dot), text.slice(dot + 1)]
    const action = ACTIONS.find((candidate) => candidate === rest)
    if (dot > 0 && model === '*' && action !== undefined) return { kind: 'action', text, action }
    if (dot > 0 && !model.includes('*') && (action !== undefined || rest === '*')) {
      if (this.#models !== undefined && !this.#models.has(model))
        throw new ConfigurationError(
          'pattern_invalid',
          `"${text}" names the model "${model}", which is not declared. If it is misspelt: declared are ${list(this.#models.keys())}. If it is not: add it, models: { ${model}: … }.`,
        )
      return action === undefined ? { kind: 'model', text, model } : { kind: 'type', text, model, action }
    }
    if (SERVICE_EVENT_TYPES.some((type) => type === text))
      return { kind: 'type', text, model: undefined, action: undefined }
    throw new ConfigurationError(
      'pattern_invalid',
      `No event can match "${text}". Patterns are a model and an action ('contact.created', 'contact.*', '*.deleted'; actions are ${list(ACTIONS)}), '*', one of ${list(SERVICE_EVENT_TYPES)}, or a type declared in the events option (${list(this.#events.keys())}; to declare this one: events: { '${text}': … }).`,
    )
  }

  #refuseClash(added: Registration): void {
    for (const other of this.#registrations) {
      // Unnamed handlers of one pattern get a number each; see #nameOf.
      if (added.givenName === undefined && other.givenName === undefined) continue
      if ((added.givenName ?? added.pattern.text) !== (other.givenName ?? other.pattern.text)) continue
      if (!canMeet(added.pattern, other.pattern)) continue
      throw new ConfigurationError(
        'handler_name_clash',
        `Two handlers named "${added.givenName ?? added.pattern.text}" can run for one event (patterns "${other.pattern.text}" and "${added.pattern.text}"), and the finish mark of one would stand for the other. Give one of them another name: .on('${added.pattern.text}', { name: '…' }, handler).`,
      )
    }
  }

  #build() {
    const named = this.#registrations.map((registration) => ({ ...registration, name: this.#nameOf(registration) }))
    const toHandlers = (matches: (pattern: Pattern) => boolean): readonly NamedHandler[] =>
      named
        .filter(({ pattern }) => matches(pattern))
        .map(({ name, handler }) => ({ name, run: this.#wrap(name, handler) }))

    const byType = new Map<string, Route>()
    for (const type of this.eventTypes().types) {
      const { model, action } = this.#events.has(type) ? NOT_A_MODEL : (splitType(type) ?? NOT_A_MODEL)
      const handlers = toHandlers((pattern) => takes(pattern, type, model, action))
      const schema =
        model === undefined ? this.#events.get(type) : action === 'deleted' ? undefined : this.#models?.get(model)
      byType.set(type, {
        handlers,
        model,
        action,
        schema: schema === undefined || isTypeOnly(schema) ? undefined : schema,
      })
    }
    const byAction = new Map<Action, Route>()
    for (const action of ACTIONS) {
      const handlers = toHandlers(
        (pattern) => pattern.kind === 'all' || (pattern.kind === 'action' && pattern.action === action),
      )
      byAction.set(action, { handlers, model: undefined, action, schema: undefined })
    }
    const others: Route = {
      handlers: toHandlers((pattern) => pattern.kind === 'all'),
      model: undefined,
      action: undefined,
      schema: undefined,
    }
    return { byType, byAction, others }
  }

  /** Unnamed handlers that share a pattern are told apart by place and count, so that marks from before a change don't fit after it. */
  #nameOf(registration: Registration): string {
    if (registration.givenName !== undefined) return registration.givenName
    const twins = this.#registrations.filter(
      (other) => other.givenName === undefined && other.pattern.text === registration.pattern.text,
    )
    return twins.length === 1
      ? registration.pattern.text
      : `${registration.pattern.text}#${twins.indexOf(registration) + 1}/${twins.length}`
  }

  #wrap(name: string, handler: Handler<AnyEvent>): Handler<AnyEvent> {
    // The first interceptor is the outermost one.
    return this.#interceptors.reduceRight<Handler<AnyEvent>>(
      (inner, interceptor) => (event, context) => interceptor(() => inner(event, context), event, context, name),
      handler,
    )
  }
}

const NOT_A_MODEL = { model: undefined, action: undefined }

function takes(pattern: Pattern, type: string, model: string | undefined, action: Action | undefined): boolean {
  switch (pattern.kind) {
    case 'all':
      return true
    case 'action':
      return pattern.action === action
    case 'model':
      return pattern.model === model
    case 'type':
      return pattern.text === type
  }
}

/** Whether one event can match both patterns. */
function canMeet(a: Pattern, b: Pattern): boolean {
  if (a.kind === 'type') return takes(b, a.text, a.model, a.action)
  if (b.kind === 'type') return canMeet(b, a)
  if (a.kind === 'all' || b.kind === 'all' || a.kind !== b.kind) return true
  return a.text === b.text
}

function checkName(options: HandlerOptions, pattern: string): string | undefined {
  if (typeof options !== 'object' || options === null)
    throw new ConfigurationError(
      'handler_invalid',
      `.on('${pattern}', …) takes a handler, or options and a handler: .on('${pattern}', { name: '…' }, handler).`,
    )
  const { name, ...unknown } = options
  const [stray] = Object.keys(unknown)
  if (stray !== undefined)
    throw new ConfigurationError('option_unknown', `.on('${pattern}', …) has no option "${stray}". It takes name.`)
  if (name === undefined) return undefined
  if (typeof name === 'string' && /^[\x21-\x7e]{1,100}$/.test(name) && !name.includes('#')) return name
  throw new ConfigurationError(
    'handler_invalid',
    `The name of the handler for "${pattern}" is ${show(name)}; give 1 to 100 printable characters without blanks and without "#".`,
  )
}

function list(words: Iterable<string>): string {
  return [...words].map((word) => `'${word}'`).join(', ') || 'none'
}
