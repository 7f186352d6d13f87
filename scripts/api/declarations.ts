import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** A statement of the built types: a function with its overloads counts once. */
export interface Declaration {
  /** The file and the name in it, which tell one declaration from another. */
  readonly id: string
  readonly name: string
  readonly kind: 'function' | 'constant' | 'class' | 'interface' | 'type'
  /** Whether it is a conditional type. */
  readonly isComputed: boolean
  /** Each overload, or the one statement, without its doc comment. */
  readonly texts: readonly string[]
  /** The doc comments, in the order of the statements. */
  readonly docs: readonly ts.JSDoc[]
  /** The declarations of this package that it names. */
  names(): readonly Declaration[]
}

type Statement = ts.DeclarationStatement | ts.VariableStatement

const KINDS: ReadonlyMap<ts.SyntaxKind, Declaration['kind']> = new Map([
  [ts.SyntaxKind.FunctionDeclaration, 'function'],
  [ts.SyntaxKind.VariableStatement, 'constant'],
  [ts.SyntaxKind.ClassDeclaration, 'class'],
  [ts.SyntaxKind.InterfaceDeclaration, 'interface'],
  [ts.SyntaxKind.TypeAliasDeclaration, 'type'],
])

/** Reads the types of the package as the build makes them: each source file's declarations, emitted in memory. */
export class DeclarationReader {
  readonly #program: ts.Program
  readonly #files = new Map<string, ts.SourceFile>()
  readonly #known = new Map<string, Declaration>()

  constructor(paths: readonly string[]) {
    const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, ts.sys.readFile)
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT)
    const emitting = { ...options, noEmit: false, declaration: true, emitDeclarationOnly: true }
    this.#program = ts.createProgram(
      paths.map((path) => ROOT + path),
      emitting,
    )
  }

  /** Returns what a file exports, by the exported name. */
  exportsOf(path: string): ReadonlyMap<string, Declaration> {
    const checker = this.#program.getTypeChecker()
    const file = this.#program.getSourceFile(ROOT + path)
    const module = file && checker.getSymbolAtLocation(file)
    if (module === undefined) throw new Error(`${path} is not a module`)
    const found = new Map<string, Declaration>()
    for (const symbol of checker.getExportsOfModule(module)) {
      const target = (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol)
      const from = target.declarations?.[0]?.getSourceFile().fileName ?? ''
      const declaration = this.#find(from, target.name)
      if (declaration === undefined) throw new Error(`${path} exports ${symbol.name}, whose declaration was not found`)
      found.set(symbol.name, declaration)
    }
    return found
  }

  #find(path: string, name: string): Declaration | undefined {
    if (!path.startsWith(ROOT) || path.includes('node_modules')) return undefined
    const id = `${path.slice(ROOT.length)}#${name}`
    const known = this.#known.get(id)
    if (known !== undefined) return known
    const statements = this.#emit(path).statements
    const own = statements.filter((statement): statement is Statement => namesOf(statement).includes(name))
    const [first] = own
    if (first === undefined) return this.#follow(path, name)
    const kind = KINDS.get(first.kind)
    if (kind === undefined) return undefined
    const declaration: Declaration = {
      id,
      name,
      kind,
      isComputed: ts.isTypeAliasDeclaration(first) && ts.isConditionalTypeNode(first.type),
      texts: own.map(toText),
      docs: own.flatMap((statement) => ts.getJSDocCommentsAndTags(statement).filter(ts.isJSDoc)),
      names: () => this.#namedBy(path, own),
    }
    this.#known.set(id, declaration)
    return declaration
  }

  /** Looks the name up in the file that it is imported from. */
  #follow(path: string, name: string): Declaration | undefined {
    for (const statement of this.#emit(path).statements) {
      if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) continue
      const named = ts.isImportDeclaration(statement) ? statement.importClause?.namedBindings : statement.exportClause
      if (named === undefined || !(ts.isNamedImports(named) || ts.isNamedExports(named))) continue
      const elements: readonly (ts.ImportSpecifier | ts.ExportSpecifier)[] = named.elements
      const element = elements.find((one) => one.name.text === name)
      const from = statement.moduleSpecifier
      if (element === undefined || from === undefined || !ts.isStringLiteral(from)) continue
      return this.#find(this.#resolve(path, from.text), (element.propertyName ?? element.name).text)
    }
    return undefined
  }

  #resolve(path: string, specifier: string): string {
    return specifier.startsWith('.') ? join(dirname(path), specifier) : ''
  }

  #namedBy(path: string, statements: readonly Statement[]): readonly Declaration[] {
    const found = new Set<Declaration>()
    const add = (from: string, name: ts.EntityName | ts.Expression | undefined) => {
      const declaration = name && ts.isIdentifier(name) ? this.#find(from, name.text) : undefined
      if (declaration !== undefined) found.add(declaration)
    }
    const visit = (node: ts.Node): void => {
      if (ts.isTypeReferenceNode(node)) add(path, node.typeName)
      if (ts.isTypeQueryNode(node)) add(path, node.exprName)
      if (ts.isExpressionWithTypeArguments(node)) add(path, node.expression)
      if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument) && ts.isStringLiteral(node.argument.literal))
        add(this.#resolve(path, node.argument.literal.text), node.qualifier)
      ts.forEachChild(node, visit)
    }
    for (const statement of statements) visit(statement)
    return [...found]
  }

  #emit(path: string): ts.SourceFile {
    const known = this.#files.get(path)
    if (known !== undefined) return known
    let text = ''
    const write = (_: string, emitted: string) => {
      text = emitted
    }
    this.#program.emit(this.#program.getSourceFile(path), write, undefined, true)
    const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
    this.#files.set(path, file)
    return file
  }
}

function namesOf(statement: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => (ts.isIdentifier(name) ? name.text : ''))
  if (!KINDS.has(statement.kind)) return []
  const { name } = statement as ts.DeclarationStatement // every kind of the table is one
  return name !== undefined && ts.isIdentifier(name) ? [name.text] : []
}

/** Drops the words of a module, and what a class keeps to itself. */
function toText(statement: Statement): string {
  return statement
    .getText()
    .replace(/^export /, '')
    .replace(/^declare /, '')
    .replace(/^ +(?:#private|private .*);\n/gm, '')
    .replace(/^( {4})+/gm, (indent) => ' '.repeat(indent.length / 2))
}
