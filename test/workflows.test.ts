import { existsSync, readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { RUNTIMES } from '../scripts/runtimes/runtimes.ts'
import { ROOT, readText } from './support/repository.ts'

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
}

interface Job {
  readonly permissions?: Readonly<Record<string, string>>
  readonly uses?: string
  readonly environment?: string
  readonly needs?: readonly string[]
  readonly 'runs-on'?: string
  readonly 'timeout-minutes'?: number
  readonly strategy?: { readonly matrix: { readonly node: readonly string[] } }
  readonly steps?: readonly Step[]
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>
  readonly permissions?: unknown
  readonly jobs: Readonly<Record<string, Job>>
}

const FOLDER = '.github/workflows'
const files = readdirSync(ROOT + FOLDER)
const read = (file: string): Workflow => parse(readText(`${FOLDER}/${file}`))

/** Returns the faults of a workflow, one line each. */
function findFaults(text: string): readonly string[] {
  const { on, permissions, jobs } = parse(text) as Workflow // its faults are what is looked for
  const faults: string[] = []
  if (JSON.stringify(permissions) !== '{}') faults.push('the workflow has permissions')
  if ('pull_request_target' in on) faults.push('foreign code runs with the rights of main')
  if (/secrets\b/.test(text)) faults.push('it names secrets')
  for (const [, used] of text.matchAll(/uses: (.*)/g))
    if (!/^(?:[\w-]+\/[\w-]+@[\da-f]{40} # v\d+\.\d+\.\d+|\.\/\.github\/workflows\/[\w-]+\.yml)$/.test(used ?? ''))
      faults.push(`not pinned, or without its version: ${used}`)
  for (const [name, job] of Object.entries(jobs)) {
    if (job.permissions === undefined) faults.push(`${name} has no permissions of its own`)
    const writes = Object.entries(job.permissions ?? {}).filter(([, right]) => right !== 'read')
    if (writes.length > 0 && JSON.stringify(writes) !== '[["id-token","write"]]') faults.push(`${name} may write`)
    if (writes.length > 0 && job.environment === undefined) faults.push(`${name} publishes without an environment`)
    if (job.uses !== undefined) continue
    if (!/^ubuntu-\d+\.\d+$/.test(job['runs-on'] ?? '')) faults.push(`${name} runs on whatever is the latest`)
    if (job['timeout-minutes'] === undefined) faults.push(`${name} has no time limit`)
    for (const { uses = '', run = '', with: inputs } of job.steps ?? []) {
      if (run.includes('${{')) faults.push(`${name} puts an expression into a shell line: ${run}`)
      if (uses.startsWith('actions/checkout@') && inputs?.['persist-credentials'] !== false)
        faults.push(`${name} leaves the token in the checkout`)
      if (writes.length > 0 && uses.startsWith('actions/checkout@'))
        faults.push(`${name} could run what it checked out`)
    }
  }
  return faults
}

describe.each(files)('%s', (file) => {
  it('pins its actions, and has no right that it does not need', () => {
    expect(findFaults(readText(`${FOLDER}/${file}`))).toEqual([])
  })

  it('runs programs of this repository that are there', () => {
    const lines = Object.values(read(file).jobs).flatMap(({ steps = [] }) => steps.map(({ run = '' }) => run))
    const named = lines.flatMap((line) => line.match(/\S*(?:scripts|\.ci)\/\S+/g) ?? [])
    expect(named.filter((path) => !existsSync(ROOT + path))).toEqual([])
  })
})

it('pins each action to one commit', () => {
  const uses = files.flatMap((file) => readText(`${FOLDER}/${file}`).match(/[\w-]+\/[\w-]+@.*/g) ?? [])
  expect(new Set(uses).size).toBe(new Set(uses.map((line) => line.split('@')[0])).size)
})

it('tests and tries every Node that the package supports', () => {
  const supported = RUNTIMES.filter(({ title }) => title === 'Node').map(({ version }) => version.split('.')[0])
  const matrices = files
    .flatMap((file) => Object.values(read(file).jobs))
    .flatMap(({ strategy }) => (strategy ? [strategy.matrix.node] : []))
  expect(matrices).toHaveLength(2)
  for (const node of matrices) expect(node.map((version) => version.split('.')[0])).toEqual(supported)
})

it('publishes in one place, by a tag, with provenance, the tarball that was tested and tried', () => {
  const publishing = files.flatMap((file) =>
    Object.values(read(file).jobs)
      .filter(({ steps = [] }) => steps.some(({ run = '' }) => run.includes('npm publish')))
      .map((job) => ({ file, job })),
  )
  expect(publishing).toHaveLength(1)
  expect(publishing[0]).toMatchObject({ file: 'release.yml', job: { needs: ['test', 'pack', 'try'] } })
  expect(publishing[0]?.job.steps?.at(-1)?.run).toMatch(/^npm publish \.\/\S+\.tgz --provenance --access public/)
  expect(read('release.yml').on).toEqual({ push: { tags: ['v*.*.*'] } })
})

describe('the check of workflows', () => {
  const PINNED = '3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1'
  const text = readText(`${FOLDER}/release.yml`)
  const expression = (name: string) => `$\{{ ${name} }}`

  it.each([
    ['a branch for a commit', `checkout@${PINNED}`, 'checkout@main', 'not pinned'],
    ['a tag for a commit', `checkout@${PINNED}`, 'checkout@v7.0.1', 'not pinned'],
    ['a short commit', PINNED, '3d3c42e # v7.0.1', 'not pinned'],
    ['a commit without its version', PINNED, PINNED.slice(0, 40), 'not pinned'],
    ['rights for all jobs', 'permissions: {}', 'permissions: write-all', 'the workflow has permissions'],
    ['no rights named', 'permissions: {}', '', 'the workflow has permissions'],
    ['a further right', 'id-token: write', 'contents: write', 'publish may write'],
    ['no environment', 'environment: npm', '', 'publishes without an environment'],
    [
      'a token',
      'timeout-minutes: 15',
      `env: { NODE_AUTH_TOKEN: "${expression('secrets.NPM_TOKEN')}" }`,
      'it names secrets',
    ],
    ['an expression in a shell line', '"$GITHUB_REF_NAME"', expression('github.ref_name'), 'into a shell line'],
    ['credentials that stay', 'persist-credentials: false', 'persist-credentials: true', 'leaves the token'],
    ['the latest system', 'ubuntu-24.04', 'ubuntu-latest', 'whatever is the latest'],
    ['no time limit', 'timeout-minutes: 15', '', 'no time limit'],
  ])('notices %s', (_what, right, wrong, fault) => {
    expect(text).toContain(right)
    expect(findFaults(text.replace(right, wrong)).join('\n')).toContain(fault)
  })
})
