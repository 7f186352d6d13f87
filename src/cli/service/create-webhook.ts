import { type Client, type CreatedWebhook, ServiceError, type Webhook } from '../../client/client.ts'
import { hasCode } from '../../client/service-error.ts'
import { EXIT, ExitError, type Io, writeOut } from '../io.ts'
import { toPrintable, toWord } from '../output/print-table.ts'
import { reserveSecretFile } from '../output/secret-file.ts'
import { type ServiceOptions, writeServiceOptions } from './service-client.ts'

interface Wanted {
  readonly url: string
  readonly events: readonly string[]
  readonly description: string | undefined
  readonly secretFile: string | undefined
  readonly isActive: boolean
  readonly isJson: boolean
  /** Options of the command, for the commands that it advises. */
  readonly service: ServiceOptions
}

/** A place for the secret. */
interface Place {
  readonly name: string
  save(created: CreatedWebhook): Promise<void>
  /** Takes away whatever it has of the secret. */
  discard(): Promise<void>
}

/**
 * Registers a webhook: inactive at first, so that it delivers nothing before its secret has a place. That is a new file, or standard
 * output, which then gets the secret alone, or as one JSON object.
 */
export async function createWebhook(client: Client, wanted: Wanted, io: Io): Promise<void> {
  const { secretFile, isActive, isJson } = wanted
  if (secretFile === undefined && (await io.isOutputDiscarded?.()))
    throw new ExitError(EXIT.usage, 'Standard output is discarded, and with it the secret, which is shown only once.', {
      fix: 'Give --secret-file FILE.',
    })
  const place = secretFile === undefined ? toStandardOutput(wanted, io) : await toFile(secretFile)
  const created = await register(client, wanted, place, io)
  const { webhook } = created
  await save(client, created, place)
  if (secretFile !== undefined && isJson) io.stdout.write(`${toJson(webhook, { secretFile })}\n`)
  const id = toPrintable(webhook.id)
  const where = secretFile === undefined ? 'on standard output' : `in ${secretFile}`
  io.stderr.write(`webhook ${id} is registered; its secret is ${where}, and is not shown again\n`)
  const resume = `postern webhooks resume ${toWord(webhook.id)}${writeServiceOptions(wanted.service)}`
  if (!isActive) return void io.stderr.write(`it is inactive; give your receiver the secret, then: ${resume}\n`)
  try {
    await client.webhooks.resume(webhook.id, { signal: io.interrupt })
  } catch (error) {
    io.stderr.write(`it is still inactive. Once the cause is fixed: ${resume}\n`)
    throw error
  }
  io.stderr.write('it is active\n')
}

async function toFile(path: string): Promise<Place> {
  const file = await reserveSecretFile(path)
  return { name: path, save: ({ secret }) => file.save(secret), discard: () => file.discard() }
}

function toStandardOutput({ isJson }: Wanted, io: Io): Place {
  return {
    name: 'standard output',
    save: ({ webhook, secret }) => writeOut(io.stdout, `${isJson ? toJson(webhook, { secret }) : secret}\n`),
    discard: async () => {},
  }
}

async function register(
  client: Client,
  { url, events, description, service }: Wanted,
  place: Place,
  io: Io,
): Promise<CreatedWebhook> {
  try {
    const fields = { url, events, ...(description !== undefined && { description }), active: false }
    return await client.webhooks.create(fields, { signal: io.interrupt })
  } catch (error) {
    await place.discard()
    const isUnclear =
      io.interrupt.aborted ||
      hasCode(error, 'outcome_unknown') ||
      (error instanceof ServiceError && error.code === 'answer_unusable' && !error.route.includes('/auth/'))
    if (isUnclear)
      io.stderr.write(
        `It may be registered, and its secret is lost then. Delete the inactive one of: postern webhooks list${writeServiceOptions(service)}\n`,
      )
    throw error
  }
}

/** A webhook whose secret is not saved is of no use. */
async function save(client: Client, created: CreatedWebhook, place: Place): Promise<void> {
  const { id } = created.webhook
  try {
    await place.save(created)
  } catch (error) {
    await place.discard().catch(() => {})
    const why = error instanceof Error ? error.message : error
    const isGone = await client.webhooks.delete(id).then(
      () => true,
      () => false,
    )
    const then = isGone ? 'is deleted again' : 'is of no use: delete it'
    throw new ExitError(EXIT.failed, `${place.name} cannot be written: ${why}. Webhook ${toPrintable(id)} ${then}.`)
  }
}

/** Writes a webhook without its state, which is about to change. */
function toJson({ raw: _raw, active: _active, ...webhook }: Webhook, more: object): string {
  return JSON.stringify({ ...webhook, ...more })
}
