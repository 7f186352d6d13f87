import http, { type IncomingMessage } from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import express, { type Request as ExpressRequest, type RequestHandler } from 'express'
import { captureRawBody, expressHandler } from 'postern/express'
import { nodeHandler } from 'postern/node'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { createScene } from './scene.ts'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..')

/** The declarations for a user's compiler, by path. */
function emitDeclarations(entries: readonly string[]): ReadonlyMap<string, string> {
  const { config } = ts.readConfigFile(`${root}/tsconfig.json`, ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const program = ts.createProgram(
    entries.map((entry) => `${root}/${entry}`),
    { ...options, noEmit: false, declaration: true, emitDeclarationOnly: true },
  )
  const declarations = new Map<string, string>()
  program.emit(undefined, (path, text) => declarations.set(path, text))
  return declarations
}

/** Returns every module outside the package that a declaration imports, directly or through another. */
function namedBy(path: string, declarations: ReadonlyMap<string, string>, seen = new Set<string>()): readonly string[] {
  const text = declarations.get(path)
  if (text === undefined) throw new Error(`there is no ${path}`)
  seen.add(path)
  return ts.preProcessFile(text).importedFiles.flatMap(({ fileName }) => {
    if (!fileName.startsWith('.')) return [fileName]
    const target = resolve(dirname(path), fileName.replace(/\.ts$/, '.d.ts'))
    return seen.has(target) ? [] : namedBy(target, declarations, seen)
  })
}

it('needs the types of no peer except Fastify, which the user of its plugin has', () => {
  const peersOf = {
    'adapters/http/express': [],
    'adapters/http/fastify': ['fastify'],
    'adapters/http/next': [],
    'adapters/http/node': [],
    'adapters/http/web': [],
  }
  const declarations = emitDeclarations(Object.keys(peersOf).map((entry) => `${entry}.ts`))
  const named = Object.keys(peersOf).map((entry) => {
    const modules = new Set(namedBy(`${root}/${entry}.d.ts`, declarations))
    return [entry, [...modules].filter((name) => !name.startsWith('node:'))]
  })
  expect(Object.fromEntries(named)).toEqual(peersOf)
  expect(declarations.get(`${root}/adapters/http/express.d.ts`)).toContain("from 'node:http'")
})

it('fits the types of every server of Node', () => {
  const { receiver } = createScene()
  const handler = nodeHandler(receiver, { source: ({ url }) => url })
  const servers = [
    http.createServer(handler),
    https.createServer({}, handler),
    http2.createServer(handler),
    http2.createSecureServer({ allowHTTP1: true }, handler),
  ]
  expect(servers).toHaveLength(4)
})

it('fits the types of Express, with and without a type for the request', () => {
  const { receiver } = createScene()
  const app = express()
  const router = express.Router()
  const handler: RequestHandler = expressHandler(receiver)
  app.post('/a', handler)
  app.use('/b', expressHandler(receiver))
  app.all('/c', expressHandler(receiver))
  app.route('/d').post(expressHandler(receiver))
  router.post('/e', expressHandler(receiver, { waitUntil: () => {} }))
  app.post('/f/:tenant', expressHandler(receiver, { source: (request) => request.params.tenant }))
  app.use('/g/:tenant', expressHandler(receiver, { source: ({ params: { tenant } }) => tenant }))
  app.post(
    '/h/:tenant',
    expressHandler(receiver, { source: (request: ExpressRequest<{ tenant: string }>) => request.params.tenant }),
  )
  app.post(
    '/i/:tenant',
    expressHandler<ExpressRequest<{ tenant: string }>>(receiver, { source: ({ params }) => params.tenant }),
  )
  app.post('/j', expressHandler(receiver, { source: (request: ExpressRequest) => request.hostname }))
  app.post('/k', expressHandler(receiver, { source: (request: IncomingMessage) => request.url }))
  app.use(express.json({ verify: captureRawBody }))
  // @ts-expect-error: a source is a text
  expressHandler(receiver, { source: (request: IncomingMessage) => request.httpVersionMajor })
  // @ts-expect-error: there is no such option
  expect(() => expressHandler(receiver, { sorce: () => 'acme' })).toThrow('no option "sorce"')
  expect(handler).toBeTypeOf('function')
})
