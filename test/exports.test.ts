import { describe, expect, it } from 'vitest'
import packageJson from '../package.json' with { type: 'json' }
import { entries } from '../scripts/entries.ts'
import { readText } from './support/repository.ts'

const subpathOf = (name: string) => (name === 'index' ? '.' : `./${name}`)
const names = Object.keys(entries)
const index = readText('docs/reference/api/README.md').split('\n')

it.each(names)('%s exports no value that the reference does not list', async (name) => {
  const subpath = name === 'index' ? 'postern' : `postern/${name}`
  const module: object = await import(subpath)
  const row = index.find((line) => line.startsWith(`| [\`${subpath}\`]`))
  expect(Object.keys(module).filter((value) => !row?.includes(`[\`${value}\`]`))).toEqual([])
})

describe('the lists of subpaths', () => {
  it('agree: package.json exports', () => {
    const expected = Object.fromEntries(
      names.map((name) => [subpathOf(name), { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` }]),
    )
    expect(packageJson.exports).toEqual({ ...expected, './package.json': './package.json' })
  })

  it('agree: package.json main and types, for tools that do not read exports', () => {
    expect(packageJson).toMatchObject({ main: './dist/index.js', types: './dist/index.d.ts' })
  })

  it('agree: package.json typesVersions', () => {
    const subpaths = names.filter((name) => name !== 'index').map((name) => [name, [`./dist/${name}.d.ts`]])
    expect(packageJson.typesVersions).toEqual({ '*': Object.fromEntries(subpaths) })
  })

  it('agree: tsconfig.json paths', () => {
    const paths = Object.entries(entries).map(([name, path]) => [
      name === 'index' ? 'postern' : `postern/${name}`,
      [`./${path}`],
    ])
    expect(JSON.parse(readText('tsconfig.json')).compilerOptions.paths).toEqual(Object.fromEntries(paths))
  })
})
