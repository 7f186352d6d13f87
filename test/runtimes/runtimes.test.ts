import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { fetchCases } from '../../scripts/runtimes/fetch-cases.ts'
import { COMPATIBILITY_DATES, RUNTIMES } from '../../scripts/runtimes/runtimes.ts'
import { ROOT, readText } from '../support/repository.ts'

const page = readText('docs/reference/runtimes.md')

describe('the page about runtimes', () => {
  const rows = [...page.matchAll(/^\| (\w+)[^|]* \| (\d[\d.]*) \|/gm)].map(
    ([, title, version]) => `${title} ${version}`,
  )

  it('names every tested runtime, and no other', () => {
    const tested = RUNTIMES.map(({ title, version }) => `${title.split(',')[0]} ${version}`)
    expect(rows).toEqual([...new Set(tested)])
  })

  it.each(COMPATIBILITY_DATES)('names the compatibility date %s', (date) => {
    expect(page).toContain(date)
  })

  it('counts the cases', () => {
    expect(page).toContain(`by ${fetchCases.length} cases`)
  })
})

it('the oldest promised Node is tested', () => {
  const [, oldest] = /^>=(\d+\.\d+)$/.exec(packageJson.engines.node) ?? []
  expect(RUNTIMES.map(({ title, version }) => `${title} ${version}`)).toContain(`Node ${oldest}.0`)
})

describe('npm run runtimes', () => {
  const run = (...args: string[]) =>
    spawnSync(process.execPath, ['--import', 'tsx', 'scripts/runtimes/main.ts', ...args], {
      cwd: ROOT,
      encoding: 'utf8',
    })

  it('prints its usage', () => {
    const { status, stdout } = run('--help')
    expect(stdout).toMatch(/^usage: npm run runtimes -- \[--only node20,node22,node24,bun,deno,workerd\]/)
    expect(status).toBe(0)
  })

  it.each([['--only', 'netscape'], ['--only', ''], ['--quick']])('refuses %s %s', (...args) => {
    const { status, stdout, stderr } = run(...args)
    expect(stderr).toContain('usage: npm run runtimes')
    expect(stdout).toBe('')
    expect(status).toBe(2)
  })
})
