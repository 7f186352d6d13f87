import { setTimeout as sleep } from 'node:timers/promises'
import { type BullmqInbox, bullmqInbox } from 'postern/bullmq'
import { silentLogger } from 'postern/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Settlement, TakenItem } from '../../../../src/engine.ts'
import { FaultyProxy } from '../../../engines/faulty-proxy.ts'
import { redisProgram, startRedis } from '../../../engines/redis-server.ts'
import { serverFor } from '../../../engines/server-for.ts'
import { Gate } from '../../../support/gate.ts'
import { StoppableClock } from '../../../support/inbox-suite/trial.ts'
import { bury, DONE, makeItem, newName, openBoard, until, work } from '../../inbox/engines.ts'

/** Starts a worker with a short lease, whose process can be suspended. */
function workBriefly(inbox: BullmqInbox, run: (item: TakenItem) => Promise<Settlement>, clock = new StoppableClock()) {
  work(inbox, run, { leaseMs: 1_000, clock })
  onTestFinished(() => clock.resume())
}

/** Ends when its worker ends. */
function hang({ signal }: TakenItem): Promise<Settlement> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve({ next: 'wait', afterMs: 0, isFailure: false }))
  })
}

function openInbox(connection: string, queue = newName()): BullmqInbox {
  const inbox = bullmqInbox({ connection, queue })
  onTestFinished(() => inbox.close())
  return inbox
}

describe.skipIf(redisProgram === undefined)('bullmqInbox', () => {
  const server = serverFor(() => startRedis('--appendfsync', 'always'))

  it('leaves an item alone that waited here to run by itself, and that another process took while this one was suspended', async () => {
    const queue = newName()
    const [owner, second, third] = Array.from({ length: 3 }, () => openInbox(server().url, queue))
    if (!owner || !second || !third) throw new Error('there are three')
    const two = new StoppableClock()
    await owner.put(makeItem('1'))
    for (let death = 0; death < 2; death++) {
      const still = new StoppableClock()
      let isRunning = false
      const run = (item: TakenItem) => {
        isRunning = true
        return hang(item)
      }
      workBriefly(openInbox(server().url, queue), run, still)
      await until(async () => isRunning)
      still.stop() // it never resumes: it has died
    }
    await owner.put(makeItem('2'))
    const ran: string[] = []
    const gate = new Gate()
    const run = async ({ key }: TakenItem) => {
      ran.push(key)
      if (key === 'k2') await gate.promise
      return DONE
    }
    workBriefly(second, run, two)
    await until(() => ran.includes('k2'))
    await sleep(4_000) // it also has k1 by now, which must run when k2 has ended
    two.stop()
    workBriefly(third, async (item) => bury(item, ['finished']))
    await until(async () => (await owner.get('k1'))?.state === 'dead')
    two.resume()
    gate.open()
    await sleep(1_500)
    expect(ran).toEqual(['k2'])
    expect(await owner.get('k1')).toMatchObject({
      state: 'dead',
      marks: ['finished'],
      tries: [{ code: 'handler_failed' }],
    })
  })

  it('does not reconnect once it is closed, which would keep the process alive', async () => {
    const inbox = openInbox(server().url)
    await inbox.put(makeItem('1'))
    await inbox.close()
    await expect(inbox.counts()).rejects.toThrow('closed')
    await expect(inbox.put(makeItem('2'))).rejects.toThrow('closed')
    await inbox.close()
  })

  it('continues past jobs that a person has changed, and runs those that can still be read', async () => {
    const queue = newName()
    const inbox = openInbox(server().url, queue)
    const board = openBoard(server().url, queue)
    const { bytes: _, ...item } = makeItem('9')
    const jobs: readonly unknown[] = [
      ...[{ ...item, base64: 5 }, { ...item, text: 5 }, item, { ...item, id: 5, text: '{}' }],
      ...[{ ...item, text: '{}', state: {} }, { ...item, text: '{}', state: { tries: 1 } }, 'text', 7, null],
    ]
    for (const data of jobs) await board.add('changed', data)
    const lines: string[] = []
    inbox.reportTo?.({ ...silentLogger, warn: (_fields, text) => void lines.push(text) })
    await inbox.put(makeItem('1'))
    expect(await inbox.counts()).toMatchObject({ waiting: 10 })
    expect((await inbox.list('waiting')).entries.map(({ key }) => key)).toEqual(['k9', 'k9', 'k1'])
    const ran: string[] = []
    workBriefly(inbox, async (taken) => {
      ran.push(taken.key)
      return taken.key === 'k1' ? DONE : bury(taken)
    })
    await until(async () => ran.length === 3 && (await inbox.counts()).running === 0)
    expect(lines.filter((line) => line.includes('jobs that are no events'))).toHaveLength(1)
    expect(await board.getJobCounts()).toMatchObject({ failed: 9, active: 0, prioritized: 0 })
    expect((await board.getFailed()).map(({ failedReason }) => failedReason)).toContain('not an event of this inbox')
    const listed: string[] = []
    let after: string | undefined
    let pages = 0
    do {
      const page = await inbox.list('dead', { limit: 2, after })
      listed.push(...page.entries.map(({ key }) => key))
      after = page.next
    } while (after !== undefined && ++pages < 20)
    expect(listed).toEqual(['k9', 'k9'])
  })
})

describe.runIf(redisProgram !== undefined)('bullmqInbox, and a failover of Redis that leaves connections open', () => {
  it('leaves the server that has become a replica', async () => {
    const [master, next] = await Promise.all([startRedis(), startRedis()])
    const proxy = new FaultyProxy(master.port)
    onTestFinished(async () => {
      proxy.close()
      await Promise.all([master.remove(), next.remove()])
    })
    const inbox = openInbox(`redis://127.0.0.1:${await proxy.listen()}`, 'failover')
    const ran: string[] = []
    workBriefly(inbox, async ({ key }) => {
      ran.push(key)
      return DONE
    })
    await inbox.put(makeItem('1'))
    await until(() => ran.length === 1)
    proxy.target = next.port
    await master.demote(next.port)
    const isPut = async () => {
      try {
        await inbox.put(makeItem('2'))
        return true
      } catch {
        return false
      }
    }
    await until(isPut)
    await until(() => ran.includes('k2'))
  })
})
