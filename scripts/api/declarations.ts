import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** A statement of the built types: a function with its overloads counts once. */
export interface Declaration {
  readonly name: string
  readonly kind: 'function' | 'constant' | 'class' | 'interface' | 'type'
  /** True for a conditional type. */
  readonly isComputed: boolean
  /** Each overload, or the one statement, without its doc comment. */
  readonly texts: readonly string[]
  /** The doc comments, in the order of the statements. */
  readonly docs: readonly ts.JSDoc[]
  /** The declarations of this package that it names. */
  names(): readonly Declaration[]
}

const KINDS: ReadonlyMap<ts.SyntaxKind, Declaration['kind']> = new Map([
  [ts.SyntaxKind.FunctionDeclaration, 'function'],
  [ts.SyntaxKind.VariableStatement, 'constant'],
  [ts.SyntaxKind.ClassDeclaration, 'class'],
  [ts.SyntaxKind.InterfaceDeclaration, 'interface'],
  [ts.SyntaxKind.TypeAliasDeclaration, 'type'],
])

/** Reads the types of the package as the build makes them, from the declarations that the compiler emits, kept in memory. */
export class DeclarationReader {
  readonly #program: ts.Program
  readonly #checker: ts.TypeChecker
  /** One for each symbol, so that declarations can be compared. */
  readonly #known = new Map<ts.Symbol, Declaration | undefined>()

  constructor(paths: readonly string[]) {
    const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, ts.sys.readFile)
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT)
    const emitted = new Map<string, string>()
    const emitting = { ...options, noEmit: false, declaration: true, emitDeclarationOnly: true }
    const sources = ts.createProgram([...paths].map(toFile), emitting)
    sources.emit(undefined, (path, text) => emitted.set(path, text), undefined, true)

    // Only what names stand for is asked of the second program: it needs neither the language's own types nor those of packages.
    const reading = { ...options, noLib: true, types: [] }
    const host = ts.createCompilerHost(reading)
    host.fileExists = (path) => emitted.has(path)
    host.readFile = (path) => emitted.get(path)
    this.#program = ts.createProgram([...emitted.keys()], reading, host)
    this.#checker = this.#program.getTypeChecker()
  }

  /** Returns what a source file exports, by the exported name. */
  exportsOf(path: string): ReadonlyMap<string, Declaration> {
    const file = this.#program.getSourceFile(toFile(path).replace(/\.ts$/, '.d.ts'))
    const module = file && this.#checker.getSymbolAtLocation(file)
    // Without exports it is imported for its effect.
    const symbols = module === undefined ? [] : this.#checker.getExportsOfModule(module)
    return new Map(
      symbols.map((symbol) => {
        const declaration = this.#find(symbol)
        if (declaration === undefined) throw new Error(`${path} exports ${symbol.name}, which is declared elsewhere`)
        return [symbol.name, declaration]
      }),
    )
  }

  #find(symbol: ts.Symbol): Declaration | undefined {
    const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0
    const target = isAlias ? this.#checker.getAliasedSymbol(symbol) : symbol
    if (!this.#known.has(target)) this.#known.set(target, this.#read(target))
    return this.#known.get(target)
  }

  #read(symbol: ts.Symbol): Declaration | undefined {
    const statements = (symbol.declarations ?? []).map((node) =>
      ts.isVariableDeclaration(node) ? node.parent.parent : node,
    )
    const [first] = statements
    const kind = first && KINDS.get(first.kind)
    if (first === undefined || kind === undefined) return undefined
    return {
      name: symbol.name,
      kind,
      isComputed: ts.isTypeAliasDeclaration(first) && ts.isConditionalTypeNode(first.type),
      texts: statements.map(toText),
      docs: statements.flatMap((statement) => ts.getJSDocCommentsAndTags(statement).filter(ts.isJSDoc)),
      names: () => this.#namedBy(statements),
    }
  }

  #namedBy(statements: readonly ts.Node[]): readonly Declaration[] {
    const found = new Set<Declaration>()
    const visit = (node: ts.Node): void => {
      const symbol = ts.isIdentifier(node) ? this.#checker.getSymbolAtLocation(node) : undefined
      const declaration = symbol && this.#find(symbol)
      if (declaration !== undefined) found.add(declaration)
      ts.forEachChild(node, visit)
    }
    for (const statement of statements) visit(statement)
    return [...found]
  }
}

function toFile(path: string): string {
  return ROOT + path
}

/** Drops the words of a module, and what a class keeps to itself. */
function toText(statement: ts.Node): string {
  return statement
    .getText()
    .replace(/^export /, '')
    .replace(/^declare /, '')
    .replace(/^ +(?:#private|private .*);\n/gm, '')
    .replace(/^( {4})+/gm, (indent) => ' '.repeat(indent.length / 2))
}
