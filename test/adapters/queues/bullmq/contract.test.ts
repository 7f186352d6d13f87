import { type BullmqInbox, bullmqInbox } from 'postern/bullmq'
import { inboxSuite } from 'postern/testing'
import { afterEach, describe, it } from 'vitest'
import { serverFor } from '../../../engines/server-for.ts'
import { BACKENDS } from './backends.ts'

describe.each(BACKENDS)('bullmqInbox on %s', (_, start) => {
  const server = serverFor(start)
  const opened: BullmqInbox[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((inbox) => inbox.close()))
  })

  // Each inbox has its own connections, as in a separate process.
  const makeInbox = (queue: string) => {
    const inbox = bullmqInbox({ connection: server().url, queue })
    opened.push(inbox)
    return inbox
  }
  for (const { name, run } of inboxSuite(makeInbox)) it(name, run)
})
