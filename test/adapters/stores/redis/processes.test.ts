import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createEvents, signed } from 'postern/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FaultyProxy } from '../../../engines/faulty-proxy.ts'
import { type RedisServer, redisProgram, startRedis } from '../../../engines/redis-server.ts'
import { bundle } from '../../../support/bundle.ts'

const SECRET = 'test-secret'
const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url))
const LEAVER = fileURLToPath(new URL('leaver.ts', import.meta.url))
const SLOW = 60_000

interface Worker {
  readonly child: ChildProcess
  readonly url: string
  readonly runs: string[]
  readonly stderr: () => string
}

async function startWorker(redisUrl: string, client: string, hangs: boolean): Promise<Worker> {
  const child = fork(await bundle(WORKER), {
    execArgv: ['--unhandled-rejections=strict'],
    env: { ...process.env, REDIS_URL: redisUrl, CLIENT: client, HANGS: hangs ? '1' : '0', WEBHOOK_SECRET: SECRET },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let stderr = ''
  child.stderr?.on('data', (part) => {
    stderr += part
  })
  const [{ address }] = await once(child, 'message')
  const runs: string[] = []
  child.on('message', ({ ran }: { readonly ran?: string }) => {
    if (ran !== undefined) runs.push(ran)
  })
  return { child, url: `http://127.0.0.1:${address.port}/`, runs, stderr: () => stderr }
}

describe.skipIf(redisProgram === undefined).concurrent('a process whose client', () => {
  it.each(['node-redis', 'node-redis 4', 'ioredis'])(
    'no longer keeps it alive ends, with the duplicate of %s',
    async (kind) => {
      const redis = await startRedis()
      const proxy = new FaultyProxy(redis.port)
      const child = fork(await bundle(LEAVER), {
        env: { ...process.env, CLIENT: kind, PORT: String(await proxy.listen()) },
      })
      try {
        expect(await once(child, 'message')).toEqual(['claimed', undefined])
        proxy.mute()
        child.send('go')
        expect(await once(child, 'message')).toEqual(['done', undefined])
        const ended = once(child, 'exit')
        expect(await Promise.race([ended, sleep(5_000, 'runs on')])).toEqual([0, null])
      } finally {
        child.kill('SIGKILL')
        proxy.close()
        await redis.remove()
      }
    },
    SLOW,
  )
})

describe.skipIf(redisProgram === undefined)('several processes on one Redis', () => {
  let redis: RedisServer
  let workers: Worker[]
  const { contact } = createEvents({ seed: 'redis' })
  type Event = ReturnType<typeof contact.created>

  beforeAll(async () => {
    redis = await startRedis()
    workers = await Promise.all(
      ['redis', 'ioredis', 'redis', 'ioredis'].map((client, at) => startWorker(redis.url, client, at === 0)),
    )
  }, SLOW)
  afterAll(async () => {
    for (const { child } of workers) child.kill('SIGKILL')
    await redis.remove()
  })

  const alive = () => workers.filter(({ child }) => child.exitCode === null && child.signalCode === null)
  const runsOf = ({ id }: Event) => workers.flatMap(({ runs }) => runs).filter((ran) => ran === id).length
  const send = async (event: Event, worker = alive()[Math.floor(Math.random() * alive().length)]): Promise<number> => {
    const request = signed(event, { secret: SECRET }).request(worker?.url ?? '')
    const response = await fetch(request).catch(() => undefined)
    await response?.arrayBuffer()
    return response?.status ?? 0
  }
  /** Sends until the delivery is acknowledged, as the service does in the end, and returns every answer. */
  const deliver = async (event: Event): Promise<readonly number[]> => {
    const answers = [await send(event)]
    while (answers.at(-1) !== 200) {
      await sleep(300)
      answers.push(await send(event))
    }
    return answers
  }

  it(
    'handle every event once, no matter how many duplicates arrive at which of them',
    async () => {
      const events = Array.from({ length: 100 }, () => contact.created())
      const answers = await Promise.all(events.flatMap((event) => [deliver(event), deliver(event), deliver(event)]))
      // A duplicate that met the claim of another process, and did not see its end before the deadline, gets an answer that asks for a
      // retry.
      expect(answers.flat().filter((status) => status !== 200 && status !== 409)).toEqual([])
      expect(events.map(runsOf)).toEqual(events.map(() => 1))
    },
    SLOW,
  )

  it(
    'take over from one that is killed while it handles an event',
    async () => {
      const event = contact.created({ _id: 'hang' })
      const [victim] = workers
      const cut = send(event, victim)
      while (runsOf(event) === 0) await sleep(10)
      victim?.child.kill('SIGKILL')
      expect(await cut).toBe(0)
      expect((await deliver(event)).at(-1)).toBe(200)
      expect(runsOf(event)).toBe(2)
    },
    SLOW,
  )

  it.each<[string, () => Promise<unknown>]>([
    [
      'frozen for a while',
      async () => {
        redis.freeze()
        await sleep(1_500)
        redis.thaw()
      },
    ],
    [
      'killed and started again',
      async () => {
        await redis.kill('SIGKILL')
        await sleep(1_500)
        await redis.start()
      },
    ],
    [
      'restarted at once',
      async () => {
        await redis.kill('SIGTERM')
        await redis.start()
      },
    ],
  ])(
    'lose nothing when the server is %s under load',
    async (_what, strike) => {
      const events: Event[] = []
      const deliveries: Promise<readonly number[]>[] = []
      let isOver = false
      const load = async () => {
        while (!isOver) {
          const event = contact.created()
          events.push(event)
          deliveries.push(deliver(event), deliver(event))
          await sleep(20)
        }
      }
      const loading = load()
      await sleep(300)
      await strike()
      await sleep(300)
      isOver = true
      await loading
      const answers = await Promise.all(deliveries)
      expect([...new Set(answers.flat())].filter((status) => ![200, 409, 503].includes(status))).toEqual([])
      for (const event of events) expect(runsOf(event), event.id).toBeGreaterThanOrEqual(1)
      expect(alive()).toHaveLength(3)
      for (const { stderr } of alive()) expect(stderr()).toBe('')
    },
    SLOW,
  )
})
