import type { Client } from '../../client/client.ts'
import type { Io } from '../io.ts'
import { toPrintable, toWord } from '../output/print-table.ts'
import { type ServiceOptions, writeServiceOptions } from './service-client.ts'

/** Says why retries have no result if their webhook is paused. */
export async function tellIfPaused(client: Client, webhookId: string, options: ServiceOptions, io: Io): Promise<void> {
  const { active } = await client.webhooks.get(webhookId, { signal: io.interrupt })
  if (active !== false) return
  const resume = `postern webhooks resume ${toWord(webhookId)}${writeServiceOptions(options)}`
  io.stderr.write(`webhook ${toPrintable(webhookId)} is paused, and holds back what is retried: ${resume}\n`)
}
