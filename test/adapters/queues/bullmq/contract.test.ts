import { type Inbox, sealedInbox } from 'postern'
import { type BullmqInbox, bullmqInbox } from 'postern/bullmq'
import { afterEach, describe, it } from 'vitest'
import { redisProgram, startRedis } from '../../../engines/redis-server.ts'
import { serverFor } from '../../../engines/server-for.ts'
import { inboxSuite, SEAL_KEYS } from '../../../support/inbox-suite/inbox-suite.ts'

/** BullMQ takes a job from a suspended worker: it runs again, the store names its finished handlers, and the loss counts. */
const WITH_KEPT_LEASES = [
  'leaves an item with a worker that was suspended if no other worker took it',
  'counts no death of a worker that was suspended, and does not let it settle what another one took',
]

describe.skipIf(redisProgram === undefined).each([
  ['bullmqInbox', (inbox: Inbox) => inbox],
  ['sealedInbox on bullmqInbox', (inbox: Inbox) => sealedInbox(inbox, { keys: SEAL_KEYS })],
])('%s', (_, wrap) => {
  const server = serverFor(() => startRedis('--appendfsync', 'always'))
  const opened: BullmqInbox[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((inbox) => inbox.close()))
  })

  // Each inbox has its own connections, as in a separate process.
  const makeInbox = (queue: string) => {
    const inbox = bullmqInbox({ connection: server().url, queue })
    opened.push(inbox)
    return wrap(inbox)
  }
  for (const { name, run } of inboxSuite(makeInbox)) it.skipIf(WITH_KEPT_LEASES.includes(name))(name, run)
})
