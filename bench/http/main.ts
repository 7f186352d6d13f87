import { Contestant, median, playRounds, print, ratio } from '../harness.ts'
import { makeRequests, sendAll } from './load.ts'

const HOSTS = [
  { title: 'node:http, against the HTTP floor', base: 'node-by-hand', others: ['node-postern', 'node-octokit'] },
  {
    title: 'Express 5, against a receiver by hand (express.raw)',
    base: 'express-by-hand',
    others: ['express-postern'],
  },
  {
    title: 'Fastify 5, against a receiver by hand (parseAs buffer)',
    base: 'fastify-by-hand',
    others: ['fastify-postern', 'fastify-raw-body'],
  },
  { title: 'Fetch, against a receiver by hand (arrayBuffer)', base: 'fetch-by-hand', others: ['fetch-postern'] },
]

/** Rows 3 and 4 of the goals: the CPU time of the server process for one request of 611 bytes. */
export async function benchHttp({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  for (const { title, base, others } of HOSTS) {
    const names = [base, ...others]
    const contestants = names.map((name) => new Contestant(name, 'http/server.mjs', [name]))
    try {
      const ports = new Map<string, number>()
      for (const contestant of contestants) {
        ports.set(contestant.name, await contestant.ask<number>({ port: true }))
        await checkSelf(contestant, ports.get(contestant.name) ?? 0)
      }
      const effort = isQuick ? { warmUp: 2, rounds: 5 } : { warmUp: 6, rounds: 11 } // Express needs some 15,000 requests to warm up
      const count = 3_000
      const times = await playRounds(contestants, effort, async (contestant) => {
        const requests = makeRequests(count)
        await contestant.ask({ mark: true })
        await sendAll(ports.get(contestant.name) ?? 0, requests)
        const { cpu, handled } = await contestant.ask<{ cpu: number; handled: number }>({ mark: true })
        if (handled !== count) throw new Error(`${contestant.name} handled ${handled} of ${count}`)
        return cpu / count
      })
      print(`HTTP, ${title}: server CPU a request (median of ${effort.rounds} rounds)`, [
        ['', 'µs', 'ratio'],
        ...names.map((name) => [name, median(times.get(name) ?? []).toFixed(1), ratio(times, name, base).toFixed(3)]),
        ...(names.includes('node-octokit')
          ? [['postern / octokit', '', ratio(times, 'node-postern', 'node-octokit').toFixed(3)]]
          : []),
      ])
    } finally {
      for (const contestant of contestants) contestant.stop()
    }
  }
}

async function checkSelf(contestant: Contestant, port: number): Promise<void> {
  const good = await sendAll(port, makeRequests(1))
  const forged = await sendAll(port, makeRequests(1, { tamper: true }))
  const { handled } = await contestant.ask<{ handled: number }>({ mark: true })
  if (good.get(200) !== 1 || forged.has(200) || handled !== 1)
    throw new Error(`${contestant.name} is not a correct receiver`)
}
