import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver } from 'postern'
import { events, signed } from 'postern/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import packageJson from '../package.json' with { type: 'json' }
import { ATTEMPT_DELAYS_MS, MAX_ATTEMPTS, SERVICE_DEADLINE_MS } from '../src/protocol/schedule.ts'
import { type CodeBlock, findCodeBlocks, findSection, listAnchors, listLinks, readTable } from './support/markdown.ts'
import { listFiles, ROOT, readText } from './support/repository.ts'
import { checkTypes } from './support/types.ts'

/**
 * Every `ts` block is a module of its own and is type-checked. The word behind `ts` says what else is done with it:
 * `run` runs it to its end; `server` and `send` in one document are started together.
 */
interface Example {
  readonly document: string
  readonly title: string
  readonly use: 'check' | 'run' | 'server' | 'send'
  readonly code: string
}

const USES = ['check', 'run', 'server', 'send'] as const
const LANGUAGES = ['ts', 'sh', 'json']

const documents = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', ...listFiles('docs', '.md')]
const blocks = documents.flatMap((document) =>
  findCodeBlocks(readText(document)).map((block) => ({ ...block, document })),
)
const examples = blocks.filter(({ info }) => info[0] === 'ts').map(toExample)

function toExample({ document, info, code, line }: CodeBlock & { readonly document: string }): Example {
  const use = USES.find((candidate) => candidate === (info[1] ?? 'check'))
  if (use === undefined) throw new Error(`${document}:${line}: "ts ${info[1]}" is none of ${USES.join(', ')}`)
  return { document, title: `${document}:${line}`, use, code }
}

/** A folder that is ignored by git and from which the packages of this repository can be imported. */
let folder: string

beforeAll(() => {
  mkdirSync(join(ROOT, '.data'), { recursive: true })
  folder = mkdtempSync(join(ROOT, '.data/docs-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('code in the documents', () => {
  it('is of a language that is checked here', () => {
    const strangers = blocks.filter(({ info }) => !LANGUAGES.includes(info[0] ?? ''))
    expect(strangers.map(({ document, line, info }) => `${document}:${line} ${info.join(' ')}`)).toEqual([])
  })

  it('compiles, strictly and against the source', () => {
    const texts = new Map(examples.map(({ title, code }) => [`.data/${title.replaceAll(/\W/g, '-')}.ts`, code]))
    expect(texts.size).toBe(examples.length)
    expect(checkTypes(texts)).toEqual([])
  })

  it('would not pass if it did not compile', () => {
    const texts = new Map([
      ['.data/wrong.ts', "import { sign } from 'postern'\nexport const x: number = sign('', '')\n"],
    ])
    expect(checkTypes(texts)).toEqual([".data/wrong.ts:2 Type 'string' is not assignable to type 'number'."])
  })

  it('is also run where it is a whole program', () => {
    expect(examples.filter(({ use }) => use === 'run')).not.toEqual([])
  })

  it.each(examples.filter(({ use }) => use === 'run'))('runs: $title', async ({ title, code }) => {
    const { exitCode, output } = await finish(start(title, code, {}))
    expect(exitCode, output).toBe(0)
  })
})

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

  it('names the tarball that npm pack makes', () => {
    expect(readText('README.md')).toContain(`${packageJson.name}-${packageJson.version}.tgz`)
  })

  it('has a receiver of 15 lines, which serves', async () => {
    const [server, ...others] = examples.filter(({ document, use }) => document === 'README.md' && use === 'server')
    const send = examples.find(({ document, use }) => document === 'README.md' && use === 'send')
    if (server === undefined || send === undefined) throw new Error('the README lost its server, or what sends to it')
    expect(others).toEqual([])
    expect(server.code.trimEnd().split('\n').length).toBeLessThanOrEqual(15)

    const port = await findFreePort()
    const env = { PORT: String(port), WEBHOOK_SECRET: 'test-secret' }
    const process = start('server', server.code, env)
    try {
      const url = `http://127.0.0.1:${port}/webhooks`
      await untilItListens(port, process)
      const good = signed(events.contact.created(), { secret: 'test-secret' })
      expect(await answerTo(good.request(url))).toEqual([200, expect.stringContaining('"handled"')])
      const forged = signed(events.contact.created(), { secret: 'another secret' })
      expect(await answerTo(forged.request(url))).toEqual([401, '{"code":"unauthorized"}'])

      const sent = await finish(start('send', send.code, env))
      expect(sent.output.match(/^\d{3} \{"code":"\w+"/gm)).toEqual([
        '200 {"code":"handled"',
        '200 {"code":"duplicate"',
        '401 {"code":"unauthorized"',
      ])
    } finally {
      process.child.kill()
    }
    const { output } = await finish(process)
    expect(output.match(/^welcome Zoë of account acme$/gm)).toHaveLength(2)
    expect(output).toContain('delivery refused: The signature is by none of the secrets')
  })
})

describe('docs/service.md', () => {
  const page = readText('docs/service.md')

  it('tells the schedule of the source', () => {
    let sinceEvent = 0
    const rows = ATTEMPT_DELAYS_MS.map((delay, index) => {
      sinceEvent += delay
      return [String(index + 1), index === 0 ? 'none' : toWords(delay), index === 0 ? '0' : toWords(sinceEvent)]
    })
    expect(readTable(findSection(page, '## Attempts'))).toEqual(rows)
    expect(rows).toHaveLength(MAX_ATTEMPTS)
  })

  it('tells the deadline of the source', () => {
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

  it('lists the options that there are', () => {
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

  it('gives bounds of every number', () => {
    const names = ['maxBodyBytes', 'deadlineMs', 'handlerTimeoutMs', 'leaseMs', 'maxInFlight']
    expect(bounded.map(({ name }) => name)).toEqual(names)
  })

  it.each(bounded)('gives the bounds that are checked: $name, $least to $most', ({ name, least, most }) => {
    for (const value of [least, most]) expect(() => create({ [name]: value })).not.toThrow()
    for (const value of [least - 1, most + 1])
      expect(() => create({ [name]: value })).toThrow(expect.objectContaining({ code: 'option_invalid' }))
  })
})

describe('links between the documents', () => {
  const links = documents.flatMap((document) => listLinks(readText(document)).map((link) => ({ document, link })))

  it.each(links.filter(({ link }) => !/^https?:/.test(link)))('$document -> $link', ({ document, link }) => {
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? document : join(dirname(document), path)
    const text = readText(target)
    if (anchor !== undefined) expect(listAnchors(text)).toContain(anchor)
  })
})

interface Program {
  readonly child: ChildProcess
  /** Both streams so far. */
  output: string
}

function start(title: string, code: string, env: Readonly<Record<string, string>>): Program {
  const path = join(folder, `${title.replaceAll(/\W/g, '-')}.ts`)
  writeFileSync(path, code)
  const child = spawn(process.execPath, ['--import', 'tsx', path], { cwd: ROOT, env: { ...process.env, ...env } })
  const program: Program = { child, output: '' }
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      program.output += text
    })
  return program
}

async function finish(program: Program): Promise<{ readonly exitCode: number | null; readonly output: string }> {
  const { child } = program
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
  return { exitCode: child.exitCode, output: program.output }
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address')
  return address.port
}

async function untilItListens(port: number, program: Program): Promise<void> {
  for (;;) {
    if (program.child.exitCode !== null) throw new Error(`the server ended: ${program.output}`)
    const isUp = await fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    )
    if (isUp) return
    await sleep(50)
  }
}

async function answerTo(request: Request): Promise<readonly [number, string]> {
  const response = await fetch(request)
  return [response.status, await response.text()]
}
