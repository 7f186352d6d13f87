import { describe, expect, it } from 'vitest'
import packageJson from '../package.json' with { type: 'json' }
import { entries } from '../scripts/entries.ts'
import { compilerOptions, listExports } from './support/types.ts'

const subpathOf = (name: string) => (name === 'index' ? '.' : `./${name}`)
const names = Object.keys(entries)

describe.each(Object.entries(entries))('the subpath %s', (name, path) => {
  const listed = listExports(path)

  it('exports what it always did', () => {
    expect(listed).toMatchSnapshot()
  })

  it('has these values at run time, and nothing else', async () => {
    const module: object = await import(name === 'index' ? 'postern' : `postern/${name}`)
    const values = listed.filter((line) => !line.endsWith('(type)')).map((line) => line.split(' ')[0])
    expect(Object.keys(module).sort()).toEqual(values)
  })
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
    expect(compilerOptions().paths).toEqual(Object.fromEntries(paths))
  })
})
