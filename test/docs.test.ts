import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { createReceiver } from 'postern'
import { events, type SignedDelivery, signed } from 'postern/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { parse } from 'yaml'
import packageJson from '../package.json' with { type: 'json' }
import { drawPictures } from '../scripts/draw-pictures.ts'
import { COMPATIBILITY_DATES, RUNTIMES } from '../scripts/runtimes/runtimes.ts'
import { ATTEMPT_DELAYS_MS, MAX_ATTEMPTS, SERVICE_DEADLINE_MS } from '../src/protocol/schedule.ts'
import { listen, toListener } from './adapters/http/hosts.ts'
import {
  type Example,
  installPackage,
  makeFolder,
  readBlocks,
  removeFolder,
  writeExamples,
} from './support/examples.ts'
import { findSection, readTable } from './support/markdown.ts'
import { findFreePort, start, untilItListens } from './support/programs.ts'
import { listDocuments, listFiles, ROOT, readText } from './support/repository.ts'
import { type CreateApp, SCENARIOS, sendSignedByNothing } from './support/scenarios.ts'
import { checkTypes } from './support/types.ts'

// Every block of code in the documents is checked here; USES in support/examples.ts defines the words behind the fences.

const SECRET = 'test-secret'
const DEPLOYMENT = 'docs/guides/deployment.md'
// Python is run by test/check/reference.test.ts.
const LANGUAGES = ['ts', 'js', 'sh', 'json', 'yaml', 'text', 'python']

const documents = listDocuments()
const blocks = readBlocks(documents)
const folder = makeFolder()
const examples = writeExamples(blocks, folder)
const examplesFor = (...uses: readonly Example['use'][]) => examples.filter(({ use }) => uses.includes(use))

beforeAll(() => installPackage(folder))
afterAll(() => removeFolder(folder))

describe('code in the documents', () => {
  it('is in a language that is checked here', () => {
    const strangers = blocks.filter(({ info }) => !LANGUAGES.includes(info[0] ?? ''))
    expect(strangers.map(({ document, line, info }) => `${document}:${line} ${info.join(' ')}`)).toEqual([])
  })

  it('compiles, strictly and against the source, or is refused as the document says', () => {
    const compiled = examples.filter(({ use }) => use !== 'walk')
    const complaints = checkTypes(new Map(compiled.map(({ path, code }) => [path, code])))
    const told = examplesFor('wrong').flatMap(({ document, line, path }) => {
      const text = blocks.find((block) => block.document === document && block.line > line)
      expect(text?.info).toEqual(['text'])
      return (text?.code ?? '')
        .trimEnd()
        .split('\n')
        .map((message) => `${path} ${message}`)
    })
    // The first line of an error is enough; its line in the block is left out.
    expect(complaints.map((complaint) => complaint.split('\n')[0]?.replace(/:\d+ /, ' '))).toEqual(told)
    expect(told).not.toEqual([])
  })

  it('is JSON or YAML if it says so', () => {
    for (const { info, code } of blocks) {
      if (info[0] === 'json') expect(() => JSON.parse(code)).not.toThrow()
      if (info[0] === 'yaml') expect(() => parse(code)).not.toThrow()
    }
  })

  const programs = examplesFor('run')
  it.concurrent.each(programs)('runs: $title', async ({ program: path }) => {
    const program = start(path, { WEBHOOK_SECRET: SECRET })
    expect(await program.exitCode, program.output).toBe(0)
  })

  describe('passes its tests', async () => {
    for (const { title, path } of examplesFor('vitest'))
      describe(title, async () => {
        beforeEach(() => {
          for (const method of ['warn', 'error'] as const) vi.spyOn(console, method).mockImplementation(() => {})
        })
        afterEach(() => vi.restoreAllMocks())
        await import(/* @vite-ignore */ join(ROOT, path))
      })
  })
})

describe('servers in the documents', () => {
  const paths: Readonly<Record<string, string>> = { 'docs/guides/secrets.md': '/webhooks/acme' }
  const pathIn = ({ document }: Example) => paths[document] ?? '/webhooks'

  afterEach(() => {
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
  })

  const servers = examplesFor('server').filter(({ document }) => document !== DEPLOYMENT)
  it.concurrent.each(servers)('answer as they should: $title', async (example) => {
    const port = await findFreePort()
    const env = { PORT: String(port), WEBHOOK_SECRET: SECRET }
    const server = start(example.program, env)
    const url = `http://127.0.0.1:${port}${pathIn(example)}`
    try {
      await untilItListens(port, server)
      await mustServe((delivery) => {
        const request = delivery.request(url)
        request.headers.set('connection', 'close') // a kept one may end between two deliveries
        return fetch(request)
      })
      // A logger may write a little later.
      await vi.waitFor(() => expect(server.output).toContain('The signature was made with none of the secrets'), 60_000)
    } finally {
      server.child.kill()
    }
    await server.exitCode
  })

  it.each(examplesFor('mount'))('answer as they should, mounted: $title', async (example) => {
    vi.stubEnv('WEBHOOK_SECRET', SECRET)
    const { log, warn } = { log: vi.spyOn(console, 'log'), warn: vi.spyOn(console, 'warn') }
    for (const spy of [log, warn]) spy.mockImplementation(() => {})
    const host = await listen(createServer(toNodeListener(await import(/* @vite-ignore */ join(ROOT, example.path)))))
    try {
      await mustServe((delivery) => fetch(delivery.request(`http://127.0.0.1:${host.port}${pathIn(example)}`)))
    } finally {
      await host.close()
    }
    expect(warn.mock.calls.flat().join()).toContain('The signature was made with none of the secrets')
  })

  it(`shut down without losing what is under way: ${DEPLOYMENT}`, async () => {
    const example = examplesFor('server').find(({ document }) => document === DEPLOYMENT)
    const [port, crmPort] = [await findFreePort(), await findFreePort()]
    let takesMs = 0
    const crm = createServer((request, response) => {
      request.resume()
      setTimeout(() => response.end('{}'), takesMs)
    }).listen(crmPort, '127.0.0.1')
    const env = { PORT: String(port), CRM_URL: `http://127.0.0.1:${crmPort}`, WEBHOOK_SECRET: SECRET }
    const server = start(example?.program ?? '', env)
    const send = (delivery: SignedDelivery) => fetch(delivery.request(`http://127.0.0.1:${port}/webhooks`))
    try {
      await untilItListens(port, server)
      await mustServe(send)
      takesMs = 500
      const answer = send(signed(events.contact.created(), { secret: SECRET }))
      await once(crm, 'request')
      server.child.kill('SIGTERM')
      expect((await answer).status).toBe(200)
      expect(await server.exitCode, server.output).toBe(0)
      expect(server.output).toMatch(/^all done$/m)
    } finally {
      server.child.kill('SIGKILL')
      crm.close()
    }
  })
})

/** Expects that genuine deliveries are handled once, including large ones, and that forged ones are refused. */
async function mustServe(send: (delivery: SignedDelivery) => Promise<Response>): Promise<void> {
  const answerTo = async (delivery: SignedDelivery) => {
    const response = await send(delivery)
    return `${response.status} ${(await response.text()).match(/"code":"(\w+)"/)?.[1]}`
  }
  const good = signed(events.contact.created(), { secret: SECRET })
  expect(await answerTo(good)).toBe('200 handled')
  expect(await answerTo(good)).toBe('200 duplicate')
  const large = signed(events.contact.created({ lastName: 'é'.repeat(150_000) }), { secret: SECRET })
  expect(await answerTo(large)).toBe('200 handled')
  for (const tamper of ['other-secret', 'reserialised', 'no-header'] as const)
    expect(await answerTo(signed(events.contact.created(), { secret: SECRET, tamper }))).toBe('401 unauthorized')
}

describe('hand-written receivers in docs/guides/moving-from-hand-written.md', () => {
  const MARKED_WHILE_FAILING = { answers: [500, 200], saved: 0 }
  const findings: { readonly [Name in keyof typeof SCENARIOS]: readonly [before: object, after: object] } = {
    'mark-first': [MARKED_WHILE_FAILING, { answers: [500, 200], saved: 1 }],
    'mark-last': [{ isDoneOnce: false }, { isDoneOnce: true }],
    're-serialised-body': [{ answers: [200, 401, 401, 401] }, { answers: [200, 200, 200, 200] }],
    'string-compare': [{ answer: 401 }, { answer: 200 }],
    'no-deadline': [
      { answers: ['none', 'none', 'none', 'none', 'none'], calls: 5 },
      { answers: [503, 200], calls: 1 },
    ],
  }

  interface App {
    readonly createApp: CreateApp
  }
  const load = (use: 'before' | 'after', name: string, query = ''): Promise<App> => {
    const path = examplesFor(use).find((example) => example.name === name)?.path
    return import(/* @vite-ignore */ join(ROOT, `${path}${query}`))
  }

  beforeEach(() => {
    vi.stubEnv('WEBHOOK_SECRET', SECRET)
    for (const method of ['warn', 'error'] as const) vi.spyOn(console, method).mockImplementation(() => {})
  })
  afterEach(() => {
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
  })

  it('are those that are tested here', () => {
    expect(examplesFor('before').map(({ name }) => name)).toEqual(Object.keys(SCENARIOS))
  })

  const names = Object.keys(SCENARIOS) as (keyof typeof SCENARIOS)[] // the keys that it was written with
  it.each(names)(
    'have the fault that the guide describes, and the receiver does not: %s',
    { retry: 2 },
    async (name) => {
      const [before, after] = findings[name]
      expect(await SCENARIOS[name]((await load('before', name)).createApp)).toEqual(before)
      expect(await SCENARIOS[name]((await load('after', '')).createApp)).toEqual(after)
    },
  )

  it('accept any signature if the secret is not set, and the receiver does not', async () => {
    vi.stubEnv('WEBHOOK_SECRET', undefined)
    const { createApp } = await load('before', 'string-compare', '?without-secret')
    expect(await sendSignedByNothing(createApp(async () => {}))).toBe(200)
    const after = await load('after', '')
    expect(() => after.createApp(async () => {})).toThrow(expect.objectContaining({ code: 'secret_unusable' }))
  })
})

interface Mounted {
  readonly POST?: (request: Request) => Promise<Response>
  readonly config?: { readonly api: { readonly bodyParser: boolean } }
  readonly default?: RequestListener | { readonly fetch: (request: Request) => Promise<Response> }
}

/** Serves the exports that a framework would find in the module. */
function toNodeListener({ POST, default: main, config }: Mounted): RequestListener {
  if (POST !== undefined) return toListener(POST)
  if (main === undefined) throw new Error('the module exports nothing that answers')
  if ('fetch' in main) return toListener(main.fetch)
  // Next.js, Pages Router: without this it would parse the body.
  if (config !== undefined) expect(config).toEqual({ api: { bodyParser: false } })
  return main
}

describe('the README', () => {
  it('promises lines that exist', () => {
    const commands = blocks
      .filter(({ document, info }) => document === 'README.md' && info[0] === 'sh')
      .flatMap(({ code }) => code.split('\n'))
    expect(commands).toContain('npm ci && npm start')
    expect(commands).toContain('npm ci && npm test')
    expect(packageJson.scripts).toMatchObject({ start: expect.any(String), test: expect.any(String) })
    const scripts = commands.flatMap((line) =>
      [...line.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, name]) => name),
    )
    for (const script of scripts) expect(packageJson.scripts).toHaveProperty([script ?? ''])
  })
})

it.each([...drawPictures()])('%s is drawn from its current text', (path, picture) => {
  expect(readFileSync(path, 'utf8')).toBe(picture)
})

it('ARCHITECTURE.md names files and folders that exist', () => {
  const paths = [...readText('ARCHITECTURE.md').matchAll(/`((?:src|adapters|tools|scripts|test)\/[\w./-]*)`/g)].map(
    ([, path = '']) => path,
  )
  expect(paths.length).toBeGreaterThan(30)
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

it('ARCHITECTURE.md says of each folder of the source what is in it', () => {
  const [table = ''] = readText('ARCHITECTURE.md').split('## Folders and their imports').slice(1)
  const named = readTable(table).map(([folder]) => folder)
  const paths = ['src', 'adapters', 'tools'].flatMap((folder) => listFiles(folder, '.ts'))
  const folders = new Set(
    paths.map((path) => path.split('/').slice(0, 2).join('/')).filter((path) => !path.endsWith('.ts')),
  )
  expect([...folders].filter((folder) => !named.includes(folder))).toEqual([])
})

describe('docs/guides', () => {
  it('name only runtimes that are tested', () => {
    const rows = readTable(readText('docs/guides/node-and-fetch.md'))
    const names = rows.map(([host = '']) => host.toLowerCase().split(' ')[0])
    expect(names).not.toEqual([])
    expect(RUNTIMES.map(({ name }) => name)).toEqual(expect.arrayContaining(names))
  })
})

it('docs/reference/runtimes.md names the tested version of each runtime', () => {
  const page = readText('docs/reference/runtimes.md')
  for (const { version } of RUNTIMES) expect(page).toContain(version)
  for (const date of COMPATIBILITY_DATES) expect(page).toContain(date)
})

describe('docs/service.md', () => {
  const page = readText('docs/service.md')

  it('contains the schedule of the source', () => {
    let sinceEvent = 0
    const rows = ATTEMPT_DELAYS_MS.map((delay, index) => {
      sinceEvent += delay
      return [String(index + 1), index === 0 ? 'none' : toWords(delay), index === 0 ? '0' : toWords(sinceEvent)]
    })
    expect(readTable(findSection(page, '## Attempts'))).toEqual(rows)
    expect(rows).toHaveLength(MAX_ATTEMPTS)
  })

  it('contains the deadline of the source', () => {
    expect(page).toContain(`within ${SERVICE_DEADLINE_MS / 1_000} seconds`)
  })
})

/** `2 h 35 min 30 s` */
function toWords(ms: number): string {
  const [h, min, s] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, Math.floor(ms / 1_000) % 60]
  return [h > 0 && `${h} h`, min > 0 && `${min} min`, s > 0 && `${s} s`].filter(Boolean).join(' ')
}

describe('docs/reference/receiver.md', () => {
  const rows = readTable(findSection(readText('docs/reference/receiver.md'), '## Options'))
  const toNumber = (text: string | undefined) => Number(text?.replaceAll(',', ''))
  const create = (options: object) => createReceiver({ secret: 'test-secret', ...options })

  it('lists all existing options', () => {
    const names = rows.flatMap(([cell = '']) => cell.split(', '))
    let message = ''
    try {
      create({ stray: 1 })
    } catch (error) {
      message = String(error)
    }
    expect(/It takes (.*)\.$/.exec(message)?.[1]?.split(', ').sort()).toEqual(names.sort())
  })

  const bounded = rows.flatMap(([name = '', , meaning = '']) => {
    const [, least, most] = /^([\d,]+) to ([\d,]+)[,.]/.exec(meaning) ?? []
    return least === undefined ? [] : [{ name, least: toNumber(least), most: toNumber(most) }]
  })

  it('names bounds of every number', () => {
    const names = ['maxBodyBytes', 'deadlineMs', 'handlerTimeoutMs', 'leaseMs', 'maxInFlight']
    expect(bounded.map(({ name }) => name)).toEqual(names)
  })

  it.each(bounded)('names the checked bounds: $name, $least to $most', ({ name, least, most }) => {
    for (const value of [least, most]) expect(() => create({ [name]: value })).not.toThrow()
    for (const value of [least - 1, most + 1])
      expect(() => create({ [name]: value })).toThrow(expect.objectContaining({ code: 'option_invalid' }))
  })
})
