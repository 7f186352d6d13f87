import { rm } from 'node:fs/promises'
import { type Client, type CreatedWebhook, ServiceError, type Webhook } from '../../../src/client/client.ts'
import { hasCode } from '../../../src/client/service-error.ts'
import { ExitError, emit, type Io, messageOf, tell, writeOut } from '../io.ts'
import { replaceFile, reserveFile } from '../output/own-file.ts'
import { toPrintable, toWord } from '../output/print-table.ts'
import { type ServiceOptions, writeServiceOptions } from './service-client.ts'

export interface CreateOptions extends ServiceOptions {
  readonly url: string
  readonly events: readonly string[]
  readonly description?: string
  readonly inactive?: true
  readonly anyType?: true
  readonly secretFile?: string
}

/** Registers a webhook, inactive at first, so that it delivers nothing before its secret is saved. */
export async function createWebhook(client: Client, options: CreateOptions, io: Io): Promise<void> {
  const { secretFile, inactive } = options
  if (secretFile !== undefined) await reserveFile(secretFile)
  const created = await register(client, options, io)
  const { webhook } = created
  await save(client, created, options, io)
  if (secretFile !== undefined) emit(io, toRecord(webhook, { secretFile }))
  const id = toPrintable(webhook.id)
  const where = secretFile === undefined ? 'on standard output' : `in ${secretFile}`
  tell(io, `webhook ${id} is registered; its secret is ${where}, and is not shown again`)
  const resume = `npx postern webhooks resume ${toWord(webhook.id)}${writeServiceOptions(options)}`
  if (inactive) return tell(io, `it is inactive; give your receiver the secret, then: ${resume}`)
  try {
    await client.webhooks.resume(webhook.id, { signal: io.interrupt })
  } catch (error) {
    tell(io, `it is still inactive. Once the cause is fixed: ${resume}`)
    throw error
  }
  tell(io, 'it is active')
}

async function register(
  client: Client,
  { url, events, description, secretFile, ...service }: CreateOptions,
  io: Io,
): Promise<CreatedWebhook> {
  try {
    return await client.webhooks.create({ url, events, description, active: false }, { signal: io.interrupt })
  } catch (error) {
    await discard(secretFile)
    const isUnclear =
      io.interrupt.aborted ||
      hasCode(error, 'outcome_unknown') ||
      (error instanceof ServiceError && error.code === 'answer_unusable' && !error.route.includes('/auth/'))
    if (isUnclear)
      tell(
        io,
        `It may be registered, and its secret is lost then. Delete the inactive one of: npx postern webhooks list${writeServiceOptions(service)}`,
      )
    throw error
  }
}

/** Saves the secret. Deletes the webhook if that fails, since it is of no use then. */
async function save(client: Client, created: CreatedWebhook, { secretFile }: CreateOptions, io: Io): Promise<void> {
  const { secret, webhook } = created
  const { id } = webhook
  try {
    if (secretFile !== undefined) await replaceFile(secretFile, `${secret}\n`)
    else await writeOut(io.stdout, `${io.isJson ? JSON.stringify(toRecord(webhook, { secret })) : secret}\n`)
  } catch (error) {
    await discard(secretFile).catch(() => {})
    const why = messageOf(error)
    const isGone = await client.webhooks.delete(id).then(
      () => true,
      () => false,
    )
    const then = isGone ? 'is deleted again' : 'is of no use: delete it'
    const name = secretFile ?? 'standard output'
    throw new ExitError('failed', `${name} cannot be written: ${why}. Webhook ${toPrintable(id)} ${then}.`)
  }
}

async function discard(secretFile: string | undefined): Promise<void> {
  if (secretFile !== undefined) await rm(secretFile, { force: true })
}

/** Record of a webhook without its state, which is about to change. */
function toRecord({ raw: _raw, active: _active, ...webhook }: Webhook, more: object): object {
  return { ...webhook, ...more }
}
