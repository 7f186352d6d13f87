import { createServer, type RequestListener } from 'node:http'
import express from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import { type Clock, createReceiver, type Receiver } from 'postern'
import { expressHandler } from 'postern/express'
import { fastifyPlugin } from 'postern/fastify'
import { contact } from 'postern/models'
import { nodeHandler } from 'postern/node'
import { fastifyTarget, fetchTarget, nodeTarget, silentLogger, type Target, urlTarget } from 'postern/testing'
import { fetchHandler } from 'postern/web'
import { onTestFinished } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'

export const secret = 'test-secret'
export const START = '2025-01-01T00:00:00Z'

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
