import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import packageJson from '../package.json' with { type: 'json' }
import { entries } from '../scripts/entries.ts'
import { listFiles, ROOT, readText } from './support/repository.ts'

const subpathOf = (name: string) => (name === 'index' ? '.' : `./${name}`)
const names = Object.keys(entries)
/** Returns the names that each subpath exports, types among them, a line a name. */
function listExports(): string {
  const { options } = ts.parseJsonConfigFileContent(JSON.parse(readText('tsconfig.json')), ts.sys, ROOT)
  const program = ts.createProgram(Object.values(entries), options)
  const checker = program.getTypeChecker()
  const lines = Object.entries(entries).map(([name, path]) => {
    const file = program.getSourceFile(path)
    const module = file && checker.getSymbolAtLocation(file)
    const exported = module === undefined ? [] : checker.getExportsOfModule(module).map((symbol) => symbol.name)
    return exported.sort().map((symbol) => `${name} ${symbol}\n`)
  })
  return lines.flat().join('')
}

it('lists the names that each subpath exports', async () => {
  await expect(listExports()).toMatchFileSnapshot('exports.txt')
})

it('names in a guide or a reference page what the core exports', () => {
  const pages = listFiles('docs', '.md').filter((path) => /^docs\/(guides|reference)\//.test(path))
  const words = new Set(pages.flatMap((path) => readText(path).match(/\w+/g) ?? []))
  const core = [...readText('test/exports.txt').matchAll(/^index (\w+)$/gm)].map(([, name = '']) => name)
  expect(core.length).toBeLessThanOrEqual(75)
  expect(core.filter((name) => !words.has(name))).toEqual([])
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
