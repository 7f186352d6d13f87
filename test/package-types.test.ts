import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { entries } from '../scripts/entries.ts'
import { packOnce } from './support/build-once.ts'
import { linkPackage, run, unpack } from './support/package.ts'
import { ROOT, readText } from './support/repository.ts'

// The declarations in the tarball, as an app with the strictest options sees them.

const STRICT: ts.CompilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  declaration: true,
  emitDeclarationOnly: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ES2022,
  typeRoots: [join(ROOT, 'node_modules/@types')],
  types: ['node'],
}
/** Packages whose types an app has that uses all entries. */
const PEERS = [
  '@opentelemetry/api',
  'bullmq',
  'express',
  'fastify',
  'ioredis',
  'pg',
  'vitest',
  '@types/express',
  '@types/pg',
]

let folder: string
let dist: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postern-types-'))
  await unpack(folder, await packOnce())
  for (const name of PEERS) await linkPackage(folder, name)
  dist = join(folder, 'node_modules/postern/dist')
})

afterAll(() => rm(folder, { recursive: true, force: true }))

type Way = 'takes' | 'returns'

/** Walks through every type that the exports of the package take or return. */
class Walk {
  /** Optional properties that an app may set, but not to `undefined`. */
  readonly strict = new Set<string>()
  /** Interfaces and classes that no entry exports. */
  readonly hidden = new Set<string>()
  readonly #checker: ts.TypeChecker
  readonly #seen = { takes: new Set<ts.Type>(), returns: new Set<ts.Type>() }
  readonly #exported = new Set<ts.Symbol>()

  constructor(files: readonly string[]) {
    const program = ts.createProgram(files, { ...STRICT, module: ts.ModuleKind.NodeNext })
    this.#checker = program.getTypeChecker()
    const exported = files.flatMap((file) => {
      const source = program.getSourceFile(file)
      const module = source && this.#checker.getSymbolAtLocation(source)
      return module === undefined ? [] : this.#checker.getExportsOfModule(module).map((symbol) => this.#resolve(symbol))
    })
    for (const symbol of exported) this.#exported.add(symbol)
    for (const symbol of exported) {
      if (symbol.flags & ts.SymbolFlags.Value) this.#visit(this.#checker.getTypeOfSymbol(symbol), 'returns')
      if (symbol.flags & ts.SymbolFlags.Type) this.#visit(this.#checker.getDeclaredTypeOfSymbol(symbol), 'returns')
    }
  }

  #resolve(symbol: ts.Symbol): ts.Symbol {
    return symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol
  }

  #visit(type: ts.Type, way: Way): void {
    if (this.#seen[way].has(type)) return
    this.#seen[way].add(type)
    if (type.isUnionOrIntersection()) {
      for (const part of type.types) this.#visit(part, way)
      return
    }
    this.#checkName(type.symbol)
    const constraint = type.isTypeParameter() ? this.#checker.getBaseConstraintOfType(type) : undefined
    const parts = [
      ...this.#checker.getTypeArguments(type as ts.TypeReference), // other types have none
      ...(type.aliasTypeArguments ?? []),
      ...(constraint === undefined ? [] : [constraint]),
    ]
    for (const part of parts) this.#visit(part, way)
    for (const signature of [...type.getCallSignatures(), ...type.getConstructSignatures()]) {
      for (const parameter of signature.typeParameters ?? []) this.#visit(parameter.getDefault() ?? parameter, way)
      for (const parameter of signature.parameters)
        this.#visit(this.#checker.getTypeOfSymbol(parameter), way === 'takes' ? 'returns' : 'takes')
      this.#visit(signature.getReturnType(), way)
    }
    for (const property of type.getProperties()) this.#visitProperty(property, way)
  }

  #visitProperty(property: ts.Symbol, way: Way): void {
    const [declaration] = property.declarations ?? []
    if (declaration === undefined || !isOurs(declaration)) return
    const isOptional = ts.isPropertySignature(declaration) && declaration.questionToken !== undefined
    if (way === 'takes' && isOptional && !this.#includesUndefined(declaration.type))
      this.strict.add(`${declaration.getSourceFile().fileName.slice(dist.length + 1)}: ${declaration.getText()}`)
    this.#visit(this.#checker.getTypeOfSymbol(property), way)
  }

  #includesUndefined(node: ts.TypeNode | undefined): boolean {
    if (node === undefined) return true
    const type = this.#checker.getTypeFromTypeNode(node)
    const all = ts.TypeFlags.Undefined | ts.TypeFlags.Unknown
    return (type.isUnion() ? type.types : [type]).some(({ flags }) => (flags & all) !== 0)
  }

  #checkName(symbol: ts.Symbol | undefined): void {
    const isNamed = symbol?.declarations?.some(
      (node) => (ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node)) && isOurs(node),
    )
    if (symbol !== undefined && isNamed && !this.#exported.has(symbol)) this.hidden.add(symbol.name)
  }
}

function isOurs(node: ts.Node): boolean {
  return node.getSourceFile().fileName.startsWith(dist)
}

describe('the declarations', () => {
  let walk: Walk
  beforeAll(() => {
    walk = new Walk(Object.keys(entries).map((name) => join(dist, `${name}.d.ts`)))
  })

  it('take undefined for every option that may be left out', () => {
    expect([...walk.strict]).toEqual([])
  })

  it('compile without skipLibCheck', () => {
    const files = Object.keys(entries).map((name) => join(dist, `${name}.d.ts`))
    const program = ts.createProgram(files, { ...STRICT, module: ts.ModuleKind.NodeNext, skipLibCheck: false })
    const found = files.flatMap((file) => program.getSemanticDiagnostics(program.getSourceFile(file)))
    expect(found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([])
  })

  it('export every interface and class that they mention', () => {
    expect([...walk.hidden].sort()).toEqual([])
  })
})

describe('the declarations of an app', () => {
  const MODERN = { module: 'nodenext' }

  it.each([
    ['an ES module, TypeScript 5.0', 'app.mts', MODERN, 'typescript5.0'],
    ['an ES module', 'app.mts', MODERN, 'typescript'],
    ['CommonJS', 'app.cts', MODERN, 'typescript'],
    ['a bundler', 'app.ts', { module: 'esnext', moduleResolution: 'bundler' }, 'typescript'],
  ])('name what it exports by public paths: %s', async (_what, name, options, compiler) => {
    await writeFile(join(folder, name), readText('test/types/exports.test-d.ts'))
    const outDir = join(folder, 'declarations')
    const compilerOptions = { ...STRICT, target: 'es2022', ...options, outDir }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [name] }))
    await run(folder, process.execPath, join(ROOT, 'node_modules', compiler, 'bin/tsc'), '--project', 'tsconfig.json')
    const emitted = await readFile(join(outDir, name.replace(/(?=[mc]?ts$)/, 'd.')), 'utf8')
    const paths = [...emitted.matchAll(/(?:from |import\()["'](postern[^"']*|\.[^"']*)/g)].map(([, path = '']) => path)
    const specifiers = Object.keys(entries).map((entry) => (entry === 'index' ? 'postern' : `postern/${entry}`))
    expect(paths.filter((path) => !specifiers.includes(path))).toEqual([])
  })
})
