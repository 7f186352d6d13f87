import { deepStrictEqual, fail } from 'node:assert'
import { createServer, type RequestListener } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import { type Clock, createReceiver, type Receiver } from 'postern'
import { expressHandler } from 'postern/express'
import { fastifyPlugin } from 'postern/fastify'
import { contact } from 'postern/models'
import { nodeHandler } from 'postern/node'
import {
  fastifyTarget,
  fetchTarget,
  manualClock,
  nodeTarget,
  silentLogger,
  type Target,
  urlTarget,
} from 'postern/testing'
import { fetchHandler } from 'postern/web'
import { onTestFinished } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'

export const secret = 'test-secret'
export const START = '2025-01-01T00:00:00Z'

// Fails all files that import this if the clock is broken: most tests would wait in vain.
await Promise.race([tryClock(), sleep(8_000, undefined, { ref: false }).then(() => fail('the manual clock hangs'))])

async function tryClock(): Promise<void> {
  const clock = manualClock(0)
  const ranAt: number[] = []
  for (const ms of [20, 10]) clock.setTimeout(() => ranAt.push(clock.now()), ms)
  await clock.advance(10)
  deepStrictEqual([clock.now(), ranAt], [10, [10]])
  deepStrictEqual([await clock.next(), clock.now(), ranAt], [true, 20, [10, 20]])
  await clock.advance(5)
  deepStrictEqual([await clock.next(), clock.now(), clock.pending], [false, 25, 0])
}

export function newReceiver(clock?: Clock): Receiver<{ readonly contact: typeof contact }> {
  return createReceiver({ secret, logger: silentLogger, models: { contact }, ...(clock && { clock }) })
}

/** Every kind of target, with a receiver behind it. */
export const TARGETS: readonly (readonly [
  name: string,
  start: (receiver: Receiver<never>) => Target | Promise<Target>,
])[] = [
  ['Express 4', (receiver) => nodeTarget(express4().post('/webhooks', expressHandler(receiver)))],
  ['Express 5', (receiver) => nodeTarget(express().post('/webhooks', expressHandler(receiver)))],
  ['node:http', (receiver) => nodeTarget(nodeHandler(receiver, { path: '/webhooks' }))],
  ['a Fetch handler', (receiver) => fetchTarget(fetchHandler(receiver))],
  ['Fastify', (receiver) => fastifyTarget(fastify().register(fastifyPlugin, { receiver, url: '/webhooks' }))],
  [
    'a URL',
    async (receiver) => {
      const host = await listen(createServer(nodeHandler(receiver)))
      onTestFinished(() => host.close())
      return urlTarget(`http://127.0.0.1:${host.port}/webhooks`)
    },
  ],
]

/** Both versions of Express around one listener for POST /webhooks. */
export const EXPRESSES: readonly (readonly [name: string, create: (listener: RequestListener) => RequestListener])[] = [
  ['Express 4', (listener) => express4().post('/webhooks', listener)],
  ['Express 5', (listener) => express().post('/webhooks', listener)],
]
