import type { HandlerError, InboxItem, Logger, Outcome, PosternError, Receiver, StandardSchema, Store } from 'postern'
import { hang, toHandler } from './handlers.ts'
import { startWorker, toInbox } from './inbox/start-worker.ts'
import { judgeContext } from './judge-context.ts'
import type { Life } from './life.ts'
import { SharedFileStore, WatchedMemoryStore } from './local-stores.ts'
import { PRIVATE, toEmail } from './messages.ts'
import { Connection, TransactionalConnection } from './network.ts'
import { oddValue } from './odd-values.ts'
import { type InterceptorKind, nameOf, SCHEMA } from './plan.ts'
import { SECRET_PREFIX } from './secret-ring.ts'
import type { World } from './world.ts'

const LATEST = { order: 'latest' } as const

/** Starts the app in a process: its connection, its receiver, and the handlers of the deployed code. */
export function startApp(world: World, life: Life): void {
  const { leaseMs, deadlineMs, handlerTimeoutMs, maxInFlight, schema, interceptor, isOwnerClumsy } = world.plan.settings
  const watch = (words: unknown) => {
    watchForSecrets(world, life, words)
    if (isOwnerClumsy) throw oddValue(world.history.deliveries.length)
  }
  const options = {
    secret: world.secrets.toOption((ms) => life.sleep(ms)),
    store: openStore(world, life),
    ...(world.inbox !== undefined && {
      inbox: toInbox(world, world.inbox, life),
      onDeadLetter: (item: InboxItem) => {
        life.deadLettersTold++
        watch({ ...item, bytes: undefined })
      },
    }),
    ...(schema !== 'none' && { models: { contact: toSchema(world, life), invoice: toSchema(world, life) } }),
    leaseMs,
    deadlineMs,
    handlerTimeoutMs,
    maxInFlight,
    clock: life.clock,
    logger: toLogger(watch),
    onOutcome: (outcome: Outcome) => {
      judgeContext(world, world.history.find(outcome.id, outcome.accountKey), 'onOutcome')
      if (outcome.late !== true) life.outcomesTold++
      watch(outcome)
    },
    onError: (error: PosternError) => {
      const { eventId, accountKey } = error as Partial<HandlerError> // errors about no event have neither
      judgeContext(world, world.history.find(eventId, accountKey), `onError with ${error.code}`)
      noteAbandonment(world, life, error)
      watch(error)
    },
  }
  const receiver = world.subject.createReceiver(options) as unknown as Receiver // the patterns of the plan are known at run time only
  if (interceptor !== 'none') receiver.intercept((run) => intercept(interceptor, run))
  for (const plan of life.handlers) {
    const handler = toHandler(world, life, plan)
    const pattern = plan.pattern as '*' // any of the legal ones
    const registered = { ...(plan.name !== undefined && { name: plan.name }), ...(plan.isOrdered && LATEST) }
    receiver.on(pattern, registered, handler)
  }
  life.receiver = receiver
  if (world.inbox !== undefined) startWorker(world, world.inbox, life)
  world.say(
    life.name,
    () => `starts with ${life.handlers.map((plan) => `${nameOf(plan)} on ${plan.pattern}`).join(', ')}`,
  )
}

function openStore(world: World, life: Life): Store {
  switch (world.plan.engine) {
    case 'memory':
      return new WatchedMemoryStore(world, life)
    case 'shared file':
      return new SharedFileStore(world, life)
    case 'network':
      return new Connection(world, life)
    case 'transactions':
      return new TransactionalConnection(world, life)
  }
}

function intercept(kind: InterceptorKind, run: () => unknown): unknown {
  switch (kind) {
    case 'awaits it':
      return (async () => await run())()
    case 'forgets it':
      run()
      return undefined
    case 'calls it twice':
      return Promise.all([run(), run()])
    case 'skips it':
      return undefined
    default:
      return run()
  }
}

/** Makes a schema that adds a field, and behaves as the plan says for the record's event. */
function toSchema(world: World, life: Life): StandardSchema {
  const validate = (value: unknown) => {
    const { email } = value as { readonly email: string } // every record here has one
    const event = world.plan.events.find(({ number }) => email === toEmail(number))
    const pass = () => ({ value: { ...(value as object), checked: true } }) // as above
    const run = world.history.countSchemaRun(email)
    const behaviour = event?.troubles.find((each) => each.handler === SCHEMA && each.run === run)?.behaviour
    world.say(life.name, () => `checks the record of event ${event?.number}: ${behaviour?.kind ?? 'passes'}`)
    switch (behaviour?.kind) {
      case 'refuses':
        return { issues: [{ message: 'the schema is too strict', path: ['email'] }] }
      case 'hangs':
        return hang()
      case 'fails':
        if (behaviour.ms === 0) throw oddValue(behaviour.thrown)
        return life.sleep(behaviour.ms).then(() => {
          throw oddValue(behaviour.thrown)
        })
      case 'succeeds':
        return life.sleep(behaviour.ms).then(pass)
      default:
        return world.plan.settings.schema === 'sync' ? pass() : life.sleep(2).then(pass)
    }
  }
  return { '~standard': { version: 1, vendor: 'simulation', validate } }
}

function toLogger(watch: (words: unknown) => void): Logger {
  const write = (fields: object, message: string) => watch([fields, message])
  return { debug: write, info: write, warn: write, error: write }
}

/** Records that the receiver has given handlers up: nothing that they still do may have an effect. */
function noteAbandonment({ history, ledger, plan, now }: World, life: Life, error: PosternError): void {
  if (error.code !== 'handler_abandoned') return
  const { eventId, eventType, handlers } = error as HandlerError // guaranteed by the code
  const [event, ...others] = plan.events.filter(({ id, type }) => id === eventId && type === eventType)
  // Two accounts may use one id: if the type is the same as well, the error does not tell which event it is about.
  if (event === undefined || others.length > 0) return
  const grant = ledger.lastGrant(event, life)
  const isUnderWay = (name: string) => {
    const run = history.lastRunIn(life, event, name)
    return run?.grant === grant && run?.endedAt === undefined && run?.completedAt === undefined
  }
  // Before that time it is a run that was suspended for so long that the receiver takes its host for stopped: it may continue.
  const isClosed = life.workAborts.some((at) => at <= now && at >= (grant?.askedAt ?? now))
  const isOverdue = isClosed || now - (grant?.answeredAt ?? now) >= plan.settings.handlerTimeoutMs
  if (grant !== undefined && isOverdue && handlers.some(isUnderWay)) grant.abandonedAt ??= now
}

/** Searches the arguments of hooks and logger for secrets and records. */
function watchForSecrets(world: World, life: Life, words: unknown): void {
  const text = toText(words, 0)
  for (const told of [SECRET_PREFIX, PRIVATE, 'sha256='])
    if (text.includes(told)) world.findings.add('secret told', `a hook of ${life.name} was told "${told}": ${text}`)
}

function toText(value: unknown, depth: number): string {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null || depth > 5) return ''
  try {
    const error = value instanceof Error ? [value.message, value.cause] : []
    return [...error, ...Object.values(value)].map((part) => toText(part, depth + 1)).join(' ')
  } catch {
    return '' // an object that throws on access
  }
}
