import type { Command } from 'commander'
import type { Webhook } from '../../../src/client/client.ts'
import { readSubscribedTypes } from '../input/event-types.ts'
import { mustBeMeant } from '../input/keys.ts'
import { collectWords } from '../input/read-option.ts'
import { emit, emitList, type Io, usageError } from '../io.ts'
import { withoutRaw } from '../output/print-delivery.ts'
import { formatTable, toPrintable } from '../output/print-table.ts'
import { type CreateOptions, createWebhook } from '../service/create-webhook.ts'
import { addServiceOptions, connectToService, type ServiceOptions } from '../service/service-client.ts'
import { type AddCommand, addGroup } from './add-group.ts'
import { addRegistrations } from './registrations.ts'

interface UpdateOptions extends ServiceOptions {
  readonly url?: string
  readonly events?: readonly string[]
  readonly anyType?: true
}

/** `postern webhooks …`: the registrations of an account. */
export function addWebhooks(program: Command, io: Io): void {
  const addToGroup = addGroup(program, 'webhooks', {
    description: 'Register, look at, change and remove webhooks on the service.',
    notes:
      'Exit codes: 0 done, 1 refused, 2 usage, 3 no service there, 4 login refused, 5 gave up on the rate limit, 130 interrupted.',
    examples: ['list', 'create --url https://app.example.com/webhooks --events contact.created'],
  })
  const add: AddCommand = (...args) =>
    addServiceOptions(addToGroup(...args)).option('--json', 'JSON to standard output, one object a webhook')
  addRegistrations(add, io)

  add('list', 'All webhooks of the account.', 'list').action(async (options: ServiceOptions) => {
    showList(await (await connectToService(options, io)).webhooks.list({ signal: io.interrupt }), io)
  })
  addChanges(add, io)
  add('delete', 'Remove a webhook for good, with its log and its retries.', 'delete 65f0c1 --yes')
    .argument('<id>', 'of the webhook')
    .option('--yes', 'do not ask')
    .action(async (id: string, options: ServiceOptions) => {
      const { webhooks } = await connectToService(options, io)
      if (!options.yes) await mustBeMeant(`Webhook ${toPrintable(id)}, its log and its retries would be deleted.`, io)
      await webhooks.delete(id, { signal: io.interrupt })
      emit(io, { id, isDeleted: true }, `webhook ${toPrintable(id)} is deleted`, io.stderr)
    })
}

function addChanges(add: AddCommand, io: Io): void {
  addTypes(
    add(
      'create',
      'Register a webhook. Its secret is shown this once: it goes to --secret-file, or to standard output.',
      'create --url https://app.example.com/webhooks --events contact.*,sync.failed --secret-file crm.secret --inactive',
      'create --url https://app.example.com/webhooks --events contact.created --json',
    ),
  )
    .requiredOption('--url <url>', 'where it delivers to')
    .requiredOption('--events <list>', TYPES, collectWords)
    .option('--description <text>', 'a label')
    .option('--secret-file <file>', 'the new file that the secret is written to, for its owner only')
    .option('--inactive', 'leave it inactive, until your receiver has the secret: then npx postern webhooks resume')
    .action(async (options: CreateOptions) => {
      const events = readSubscribedTypes(options.events, options.anyType === true)
      await createWebhook(await connectToService(options, io), { ...options, events }, io)
    })
  addTypes(
    add(
      'update',
      'Change where a webhook delivers to, or what.',
      'update 65f0c1 --events contact.created,contact.updated',
      'update 65f0c1 --url https://app.example.com/webhooks --json',
    ),
  )
    .argument('<id>', 'of the webhook')
    .option('--url <url>', 'where it delivers to')
    .option('--events <list>', TYPES, collectWords)
    .action(async (id: string, options: UpdateOptions) => {
      const { url, events, anyType } = options
      if (url === undefined && events === undefined) throw usageError('Give --url, --events or both.')
      const changes = { url, events: events && readSubscribedTypes(events, anyType === true) }
      const { webhooks } = await connectToService(options, io)
      showWebhook(await webhooks.update(id, changes, { signal: io.interrupt }), io)
    })
  for (const name of ['get', 'pause', 'resume'] as const)
    add(name, WORDS[name], `${name} 65f0c1`)
      .argument('<id>', 'of the webhook')
      .action(async (id: string, options: ServiceOptions) => {
        const { webhooks } = await connectToService(options, io)
        showWebhook(await webhooks[name](id, { signal: io.interrupt }), io)
      })
}

const TYPES = 'types with commas; contact.* for the three of a model'

const WORDS = {
  get: 'One webhook.',
  pause: 'Stop the deliveries of a webhook; it stays registered.',
  resume: 'Let a webhook deliver, again or at last.',
}

function addTypes(command: Command): Command {
  return command.option('--any-type', 'take types as they stand, though the service does not name them')
}

function showList(webhooks: readonly Webhook[], io: Io): void {
  const rows = webhooks.map(({ id, active, url, events }) => [id, showState(active), url, events?.join(', ')])
  const table = formatTable(['WEBHOOK', 'STATE', 'URL', 'EVENTS'], rows)
  emitList(io, webhooks.map(withoutRaw), table, 'the account has no webhook')
}

function showWebhook(webhook: Webhook, io: Io): void {
  const { id, active, url, events, description, createdAt } = webhook
  const rows = [
    ['state', showState(active)],
    ['url', url],
    ['events', events?.join(', ')],
    ['description', description],
    ['created', createdAt?.toISOString()],
  ]
  emit(io, withoutRaw(webhook), formatTable(['webhook', id], rows))
}

function showState(active: boolean | undefined): string | undefined {
  return active === undefined ? undefined : active ? 'active' : 'paused'
}
