import type { Command } from 'commander'
import { isObject } from '../../../src/protocol/envelope.ts'
import { type ServiceEventType, splitType, type WebhookEvent } from '../../../src/protocol/events.ts'
import { createEvents, type EnvelopeOptions, type EventBuilders } from '../../testing/events.ts'
import { SAMPLES } from '../../wire/samples.ts'
import { type Io, messageOf, tell, usageError } from '../io.ts'
import { mustBeType } from './event-types.ts'
import { collect, readCount, readDuration } from './read-option.ts'
import { adviseFile, readJsonText, type SecretOptions } from './secret.ts'
import { setValues } from './set-values.ts'

export interface EventOptions extends Pick<SecretOptions, 'secretStdin'> {
  readonly set?: readonly string[]
  readonly data?: string
  readonly count: number
  readonly late?: number
  readonly account?: string
  readonly anyType?: true
}

export function addEventOptions(command: Command): Command {
  return command
    .option('--set <path=value>', 'change one value: data.record.email=zoe@example.test; several times', collect)
    .option('--data <json>', 'the whole data of the event: JSON, @file, or - for standard input')
    .option('--account <key>', 'the accountKey of the event (default: acme)')
    .option('--late <time>', 'the event happened so long ago, as in a late attempt: 2h', readDuration)
    .option('--any-type', 'send the type as it stands, though the service does not name it')
    .option('--count <n>', 'make so many events', readCount, 1)
}

export async function makeEvents(type: string, options: EventOptions, io: Io): Promise<readonly WebhookEvent[]> {
  const { count, late = 0, account, set = [] } = options
  mustBeType(type, options.anyType === true)
  if (options.late !== undefined && set.some((setting) => setting.startsWith('timestamp=')))
    throw usageError('--late and --set timestamp both say when the event happened: give one.')
  const data = options.data === undefined ? undefined : await readData(type, options.data, options, io)
  const builders = createEvents()
  const events = Array.from({ length: count }, () => {
    const timestamp = new Date(Date.now() - late).toISOString()
    const built = buildEvent(builders, type, { timestamp, accountKey: account })
    // Each event has a copy of the data, since --set changes it.
    const event = data === undefined ? built : { ...built, data: JSON.parse(data) }
    setValues(event, set)
    return event
  })
  const fields = Object.keys(Object(Object(events[0]?.data).record)).filter((name) => name !== '_id')
  if (splitType(type)?.action === 'deleted' && fields.length > 0)
    tell(io, `The service sends only the _id of a deleted record, and not ${fields.join(', ')}.`)
  return events
}

/** Reads the value of `--data`, a file or standard input as JSON text. Ends the command if it is not the data of an event. */
async function readData(type: string, given: string, secret: EventOptions, io: Io): Promise<string> {
  const text = await readJsonText(given, secret, io)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw usageError(`--data is not JSON: ${messageOf(error)}.${adviseFile(given)}`)
  }
  if (!isObject(value)) throw usageError('--data is an object, such as {"record":{"_id":"1"}} for an event.')
  if ('type' in value && 'id' in value && 'data' in value)
    throw usageError('--data is a whole event. Give only its "data"; the rest comes from the arguments.')
  if (splitType(type) !== undefined && Object.keys(value).length > 0 && !('record' in value))
    throw usageError(`--data of ${type} has the record in it: {"record":{"_id":"1"}}.`)
  return text
}

/** Makes a plausible event of any type, as a delivery contains it. */
export function buildEvent(builders: EventBuilders, type: string, envelope: EnvelopeOptions): WebhookEvent {
  return JSON.parse(JSON.stringify(build(builders, type, envelope)))
}

function build(builders: EventBuilders, type: string, envelope: EnvelopeOptions): object {
  const parts = splitType(type)
  if (parts === undefined) return builders.raw(type, { ...SAMPLES[type as ServiceEventType] }, envelope) // {} for other types
  const { model, action } = parts
  return (model === 'contact' ? builders.contact : builders.model(model))[action](undefined, envelope)
}
