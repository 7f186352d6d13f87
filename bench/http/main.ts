import { compare } from '../compare.ts'
import { Contestant } from '../harness.ts'
import { makeRequests, sendAll } from './load.ts'

/** Receivers by host; the first is the one by hand. */
const HOSTS: Readonly<Record<string, readonly string[]>> = {
  'node:http': ['node-by-hand', 'node-postern', 'node-careful', 'node-octokit', 'node-octokit-dedupe'],
  'Express 5': ['express-by-hand', 'express-postern'],
  'Fastify 5': ['fastify-by-hand', 'fastify-postern', 'fastify-raw-body'],
  "Hono's Node server": ['hono-by-hand', 'hono-postern'],
  'Fetch, Requests of the platform': ['fetch-by-hand', 'fetch-postern'],
}
const COUNT = 2_500

/** Rows 3 and 4 of the goals: the CPU time of the server process for one request of 611 bytes. */
export async function benchHttp({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  // Express needs some 15,000 requests to warm up.
  const effort = isQuick ? { processes: 1, warmUp: 3, rounds: 5 } : { processes: 3, warmUp: 6, rounds: 9 }
  for (const [host, names] of Object.entries(HOSTS))
    await compare(
      {
        title: `HTTP, ${host}`,
        names,
        start: (name) => new Contestant(name, 'http/server.mjs', [name]),
        check: checkSelf,
        play: async (contestant) => (await send(contestant, COUNT)) / COUNT,
      },
      effort,
    )
}

async function send(contestant: Contestant, count: number): Promise<number> {
  const port = await contestant.ask<number>({ port: true })
  const requests = makeRequests(count, contestant.name)
  await contestant.ask({ mark: true })
  await sendAll(port, requests)
  const { cpu, handled } = await contestant.ask<{ cpu: number; handled: number }>({ mark: true })
  if (handled !== count) throw new Error(`${contestant.name} handled ${handled} of ${count}`)
  return cpu
}

async function checkSelf(contestant: Contestant): Promise<void> {
  const port = await contestant.ask<number>({ port: true })
  const good = await sendAll(port, makeRequests(1, contestant.name))
  const forged = await sendAll(port, makeRequests(1, contestant.name, 'another secret'))
  const { handled } = await contestant.ask<{ handled: number }>({ mark: true })
  if (good.get(200) !== 1 || forged.has(200) || handled !== 1)
    throw new Error(`${contestant.name} is not a correct receiver`)
}
