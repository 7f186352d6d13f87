import { checkPlainType } from '../protocol/check-schemas.ts'
import type { EventSchemas, ModelSchemas, NoEvents } from '../protocol/events.ts'
import { SIGNATURE_HEADER } from '../protocol/head.ts'
import {
  ANY,
  FILLED_TEXT,
  FUNCTION,
  type Kinds,
  number,
  OptionChecker,
  oneOf,
  TEXTS,
  whole,
} from '../protocol/option-checker.ts'
import { DEFAULT_DEADLINE_MS } from '../protocol/schedule.ts'
import type { OpenTypes, Sender } from '../protocol/sender.ts'
import { SENDER, toProtocol } from '../protocol/sender-protocol.ts'
import type { Store } from '../store/store.ts'
import { WebhookReceiver } from './create-receiver.ts'
import type { ContextOf } from './handler.ts'
import { checkOptions, hintFor, ONE_OBJECT, OPTIONS, type ReceiverOptions } from './options.ts'
import type { SenderReceiver, SenderReceiverOptions } from './sender-receiver.ts'

const DAY_MS = 86_400_000
const ONE_ATTEMPT = 'makes one attempt: without an inbox, an event that fails is lost. Give receiveFrom an inbox.'

/**
 * Creates a receiver of another sender's webhooks: GitHub, Stripe and others of `postern/senders`, or an own one. It handles events as
 * `createReceiver` does, by its stores and inboxes.
 *
 * @throws ConfigurationError `option_unknown`, `option_invalid`, `secret_unusable`, `store_shared`
 * @example
 * const receiver = receiveFrom(github<EventPayloadMap>(), { secret: process.env.GITHUB_WEBHOOK_SECRET })
 * receiver.on('issues.opened', (event) => console.log(event.data.issue.title))
 */
export function receiveFrom<Types = OpenTypes, E extends EventSchemas = NoEvents, S extends Store = Store>(
  sender: Sender<Types>,
  options: SenderReceiverOptions<E, S>,
): SenderReceiver<Types, E, ContextOf<S>>
// The types concern handlers only; patterns and schemas are also checked at run time.
export function receiveFrom(
  sender: Sender<unknown>,
  options: SenderReceiverOptions<EventSchemas, Store>,
  next?: unknown,
): unknown {
  const check = new OptionChecker('receiveFrom')
  check.mustBe('sender', sender, SENDER)
  checkSender(sender)
  check.mustFit(options, OPTIONS_OF_SENDERS, ['secret'], hintForSender)
  check.mustEnd(next, ONE_OBJECT)
  const settings = checkOptions(options as ReceiverOptions<ModelSchemas, EventSchemas>, {
    check,
    protocol: toProtocol(sender),
    // Two senders on one store or inbox never meet.
    name: sender.name
      .toLowerCase()
      .replace(/[^\x21-\x7e]+/g, '-')
      .slice(0, 64),
    maxBodyBytes: sender.maxBodyBytes ?? 1_048_576,
    deadlineMs: {
      initial: Math.min(0.8 * sender.waitsMs, sender.waitsMs - 500, DEFAULT_DEADLINE_MS),
      most: sender.waitsMs - 500,
    },
    retentionMs: {
      least: sender.duplicatesForMs,
      reason: `${sender.name} may repeat an event for ${sender.duplicatesForMs} ms`,
    },
    checkEventType: (...given) => checkPlainType(...given, sender),
  })
  if (sender.attempts === 1 && settings.inbox === undefined)
    settings.logger.warn({ receiver: settings.name }, `${sender.name} ${ONE_ATTEMPT}`)
  return new WebhookReceiver(settings)
}

/** Options about events of the CRM service. */
const OF_SERVICE = ['models', 'maxAge', 'signatureHeader']
const ABOUT_SERVICE = 'It is about events of the CRM service.'
const OF_PROFILE = 'It is an option of the sender, the first argument, such as stripe({ toleranceMs }).'
const OPTIONS_OF_SENDERS = Object.fromEntries(Object.entries(OPTIONS).filter(([name]) => !OF_SERVICE.includes(name)))

function hintForSender(stray: string): string | undefined {
  if (/tolerance/i.test(stray)) return OF_PROFILE
  return OF_SERVICE.includes(stray) ? ABOUT_SERVICE : hintFor(stray)
}

const NAMES = ['id', 'type', 'accountKey', 'timestamp']
const FIELDS: Kinds<Sender> = {
  name: FILLED_TEXT,
  headers: TEXTS,
  optionalHeaders: TEXTS,
  unsigned: (value) => TEXTS(value) ?? (value as readonly string[]).map(oneOf(NAMES)).find((fix) => fix !== undefined),
  readHead: FUNCTION,
  nameEvent: FUNCTION,
  sign: FUNCTION,
  spellType: FUNCTION,
  toKey: FUNCTION,
  toleranceMs: number(1_000, DAY_MS),
  waitsMs: number(1_000, DAY_MS),
  attempts: whole(1, 1_000),
  duplicatesForMs: (value) => (value === 0 ? undefined : number(1_000, 365 * DAY_MS, 'it is in milliseconds')(value)),
  maxBodyBytes: whole(1, 1_073_741_824, 'bytes'),
  types: ANY,
}
const OPTIONAL: readonly string[] = ['optionalHeaders', 'spellType', 'toKey', 'toleranceMs', 'maxBodyBytes', 'types']
const REQUIRED = Object.keys(FIELDS).filter((name) => !OPTIONAL.includes(name))

/** Checks a sender, which an app may have written. */
function checkSender(sender: Sender<unknown>): void {
  const check = new OptionChecker('sender')
  check.mustFit(sender, FIELDS, REQUIRED)
  const { headers, optionalHeaders = [] } = sender
  for (const header of [headers[0], ...headers, ...optionalHeaders]) {
    check.mustBe('a header', header, SIGNATURE_HEADER)
    if (/[A-Z]/.test(header)) throw check.invalid(`the header ${header} is not in lower case.`)
  }
}
