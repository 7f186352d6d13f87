import type { Client, Webhook } from '../client/client.ts'
import { EXIT, ExitError, type Io, writeOut } from './io.ts'
import { toPrintable } from './printable.ts'
import { reserveSecretFile, type SecretFile } from './secret-file.ts'

interface Wanted {
  readonly url: string
  readonly events: readonly string[]
  readonly description: string | undefined
  readonly secretFile: string | undefined
  readonly isActive: boolean
  readonly isJson: boolean
}

/**
 * Registers a webhook: inactive at first, so that it delivers nothing before its secret has a place. That is a new file, or standard
 * output, which then gets the secret alone, or as one JSON object.
 */
export async function createWebhook(client: Client, wanted: Wanted, io: Io): Promise<void> {
  const { secretFile, isActive, isJson } = wanted
  const file = secretFile === undefined ? undefined : await reserveSecretFile(secretFile)
  const { webhook, secret } = await register(client, wanted, file, io)
  if (file !== undefined) await save(client, webhook, () => file.save(secret), `${secretFile}`, file)
  else {
    const text = isJson ? toJson(webhook, { secret }) : secret
    await save(client, webhook, () => writeOut(io.stdout, `${text}\n`), 'standard output', undefined)
  }
  if (file !== undefined && isJson) io.stdout.write(`${toJson(webhook, { secretFile })}\n`)
  const id = toPrintable(webhook.id)
  const where = secretFile === undefined ? 'on standard output' : `in ${secretFile}`
  io.stderr.write(`webhook ${id} is registered; its secret is ${where}, and is not shown again\n`)
  const resume = `postern webhooks resume ${id}`
  if (!isActive) return void io.stderr.write(`it is inactive; give your receiver the secret, then: ${resume}\n`)
  try {
    await client.webhooks.resume(webhook.id, { signal: io.interrupt })
  } catch (error) {
    io.stderr.write(`it is inactive still. Once the cause is mended: ${resume}\n`)
    throw error
  }
  io.stderr.write('it is active\n')
}

async function register(
  client: Client,
  { url, events, description }: Wanted,
  file: SecretFile | undefined,
  io: Io,
): ReturnType<Client['webhooks']['create']> {
  try {
    const fields = { url, events, ...(description !== undefined && { description }), active: false }
    return await client.webhooks.create(fields, { signal: io.interrupt })
  } catch (error) {
    await file?.discard()
    const isUnclear =
      io.interrupt.aborted || (error instanceof Error && 'code' in error && error.code === 'outcome_unknown')
    if (isUnclear)
      io.stderr.write(
        'It may be registered, and its secret is lost then. Look: postern webhooks list, and delete the inactive one.\n',
      )
    throw error
  }
}

/** A webhook whose secret nobody has is of no use. */
async function save(
  client: Client,
  { id }: Webhook,
  write: () => Promise<void>,
  path: string,
  file: SecretFile | undefined,
): Promise<void> {
  try {
    await write()
  } catch (error) {
    await file?.discard().catch(() => {})
    const why = error instanceof Error ? error.message : error
    const isGone = await client.webhooks.delete(id).then(
      () => true,
      () => false,
    )
    const then = isGone ? 'is deleted again' : 'is of no use: delete it'
    throw new ExitError(EXIT.failed, `${path} cannot be written: ${why}. Webhook ${toPrintable(id)} ${then}.`)
  }
}

/** Without its state, which is about to change. */
function toJson({ raw: _raw, active: _active, ...webhook }: Webhook, more: object): string {
  return JSON.stringify({ ...webhook, ...more })
}
