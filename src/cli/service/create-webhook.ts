import { rm } from 'node:fs/promises'
import { type Client, type CreatedWebhook, ServiceError, type Webhook } from '../../client/client.ts'
import { hasCode } from '../../client/service-error.ts'
import { defined, EXIT, ExitError, type Io, messageOf, usageError, writeJson, writeOut } from '../io.ts'
import { replaceFile, reserveFile } from '../output/own-file.ts'
import { toPrintable, toWord } from '../output/print-table.ts'
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

/** Place of the secret: a new file, or standard output, as the only text or as one JSON object. */
interface SecretPlace {
  readonly name: string
  save(created: CreatedWebhook): Promise<void>
  /** Removes the file, with the secret if it has one. */
  discard(): Promise<void>
}

/** Registers a webhook, inactive at first, so that it delivers nothing before its secret is saved. */
export async function createWebhook(client: Client, wanted: Wanted, io: Io): Promise<void> {
  const { secretFile, isActive, isJson } = wanted
  if (secretFile === undefined && (await io.isOutputDiscarded?.()))
    throw usageError('Standard output is discarded, and with it the secret, which is shown only once.', {
      fix: 'Give --secret-file FILE.',
    })
  const place = secretFile === undefined ? toStandardOutput(wanted, io) : await toFile(secretFile)
  const created = await register(client, wanted, place, io)
  const { webhook } = created
  await save(client, created, place)
  if (secretFile !== undefined && isJson) writeJson(io, toRecord(webhook, { secretFile }))
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

async function toFile(path: string): Promise<SecretPlace> {
  await reserveFile(path)
  return {
    name: path,
    save: ({ secret }) => replaceFile(path, `${secret}\n`),
    discard: () => rm(path, { force: true }),
  }
}

function toStandardOutput({ isJson }: Wanted, io: Io): SecretPlace {
  return {
    name: 'standard output',
    save: ({ webhook, secret }) =>
      writeOut(io.stdout, `${isJson ? JSON.stringify(toRecord(webhook, { secret })) : secret}\n`),
    discard: async () => {},
  }
}

async function register(
  client: Client,
  { url, events, description, service }: Wanted,
  place: SecretPlace,
  io: Io,
): Promise<CreatedWebhook> {
  try {
    const fields = { url, events, ...defined({ description }), active: false }
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

/** Saves the secret. Deletes the webhook if that fails, since it is of no use then. */
async function save(client: Client, created: CreatedWebhook, place: SecretPlace): Promise<void> {
  const { id } = created.webhook
  try {
    await place.save(created)
  } catch (error) {
    await place.discard().catch(() => {})
    const why = messageOf(error)
    const isGone = await client.webhooks.delete(id).then(
      () => true,
      () => false,
    )
    const then = isGone ? 'is deleted again' : 'is of no use: delete it'
    throw new ExitError(EXIT.failed, `${place.name} cannot be written: ${why}. Webhook ${toPrintable(id)} ${then}.`)
  }
}

/** Record of a webhook without its state, which is about to change. */
function toRecord({ raw: _raw, active: _active, ...webhook }: Webhook, more: object): object {
  return { ...webhook, ...more }
}
