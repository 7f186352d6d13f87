import fastify from 'fastify'
import type { ConfigurationError } from 'postern'
import { expressHandler } from 'postern/express'
import { fastifyPlugin } from 'postern/fastify'
import { nextApiHandler, nextHandler } from 'postern/next'
import { nodeHandler } from 'postern/node'
import { fetchHandler } from 'postern/web'
import { describe, expect, it } from 'vitest'
import { createScene } from './scene.ts'

/** Values that plain JavaScript may pass. */
type Make = (receiver: unknown, options?: unknown) => unknown

const adapters: readonly [string, Make][] = Object.entries({
  expressHandler: expressHandler as unknown as Make,
  fetchHandler: fetchHandler as Make,
  nextHandler: nextHandler as Make,
  nextApiHandler: nextApiHandler as Make,
  nodeHandler: nodeHandler as Make,
  fastifyPlugin: async (receiver, options) => {
    const app = fastify()
    await app.register(fastifyPlugin, { ...(options as object), receiver } as never)
    await app.ready()
  },
})

async function failureOf(make: () => unknown): Promise<ConfigurationError> {
  try {
    await make()
  } catch (error) {
    return error as ConfigurationError // the test checks it, whatever it is
  }
  throw new Error('nothing was thrown')
}

describe.each(adapters)('%s checks its arguments when it is called:', (name, make) => {
  const { receiver } = createScene()

  it.each<[string, unknown, unknown, string, string]>([
    ['no receiver, as after a circular import', undefined, {}, 'option_invalid', 'create it in a separate module'],
    ['a handler for a receiver', () => {}, {}, 'option_invalid', 'got something that is not a receiver'],
    [
      'a misspelt option',
      receiver,
      { sources: () => 'acme' },
      'option_unknown',
      'has no option "sources". It takes source',
    ],
    ['a source that is text', receiver, { source: 'acme' }, 'option_invalid', 'source is "acme"; give a function'],
    [
      'a waitUntil that is a promise',
      receiver,
      { waitUntil: Promise.resolve() },
      'option_invalid',
      'waitUntil is a promise; give a function',
    ],
  ])('%s', async (_what, given, options, code, fix) => {
    const error = await failureOf(() => make(given, options))
    expect(error.code).toBe(code)
    expect(error.message).toContain(name)
    expect(error.message).toContain(fix)
  })

  it('and accepts valid ones', async () => {
    await make(receiver, { source: () => 'acme', waitUntil: () => {} })
    await make(receiver, {})
  })
})

describe.each([
  ['nodeHandler', 'path', (path: unknown) => nodeHandler(createScene().receiver, { path } as never)],
  [
    'fastifyPlugin',
    'url',
    (url: unknown) => adapters.find(([name]) => name === 'fastifyPlugin')?.[1](createScene().receiver, { url }),
  ],
] as const)('%s checks its %s:', (name, option, make) => {
  it.each([['webhooks'], ['https://app.example/webhooks'], ['/webhooks?tenant=1'], [''], [7], [null]])(
    '%j',
    async (path) => {
      const error = await failureOf(() => make(path))
      expect(error).toMatchObject({ code: 'option_invalid' })
      expect(error.message).toContain(`${name}: ${option} is ${JSON.stringify(path)}; give a path that begins with "/"`)
    },
  )
})
