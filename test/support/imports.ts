import ts from 'typescript'

/** One place in a file that names another module. */
export interface Import {
  readonly specifier: string
  /** True if it is erased at run time. */
  readonly isTypeOnly: boolean
  readonly line: number
}

/** The parts of a file that the architecture rules check. */
export interface FileFacts {
  readonly imports: readonly Import[]
  /** Lines with `export *`. */
  readonly starExports: readonly number[]
  /** Lines with a default export, in any form. */
  readonly defaultExports: readonly number[]
  readonly functions: readonly FunctionFacts[]
}

interface FunctionFacts {
  /** Its own name, or that of the variable or field that it is assigned to; empty if there is none. */
  readonly name: string
  readonly line: number
  readonly length: number
}

/** Reads every form in which TypeScript can name a module: statements, re-exports, `import()` of values and types, `require`. */
export function readFacts(path: string, text: string): FileFacts {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const imports: Import[] = []
  const starExports: number[] = []
  const defaultExports: number[] = []
  const functions: FunctionFacts[] = []
  const lineOf = (node: ts.Node) => file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1
  const add = (node: ts.Node, specifier: ts.Node | undefined, isTypeOnly: boolean) => {
    if (specifier === undefined) return
    imports.push({
      specifier: ts.isStringLiteralLike(specifier) ? specifier.text : `(computed: ${specifier.getText(file)})`,
      isTypeOnly,
      line: lineOf(node),
    })
  }

  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      add(node, node.moduleSpecifier, isTypeOnlyImport(node.importClause))
    } else if (ts.isExportDeclaration(node)) {
      add(node, node.moduleSpecifier, isTypeOnlyExport(node))
      if (node.exportClause === undefined || ts.isNamespaceExport(node.exportClause)) starExports.push(lineOf(node))
      else if (node.exportClause.elements.some((element) => element.name.text === 'default'))
        defaultExports.push(lineOf(node))
    } else if (ts.isExportAssignment(node)) {
      defaultExports.push(lineOf(node))
    } else if (ts.isImportTypeNode(node)) {
      add(node, ts.isLiteralTypeNode(node.argument) ? node.argument.literal : node.argument, true)
    } else if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference)) {
      add(node, node.moduleReference.expression, node.isTypeOnly)
    } else if (ts.isCallExpression(node) && isModuleCall(node.expression)) {
      add(node, node.arguments[0], false)
    }
    if (ts.canHaveModifiers(node) && ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword))
      defaultExports.push(lineOf(node))
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const line = lineOf(node)
      const last = file.getLineAndCharacterOfPosition(node.end).line + 1
      functions.push({ name: nameOf(node), line, length: last - line + 1 })
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return { imports, starExports, defaultExports, functions }
}

function isModuleCall(callee: ts.Expression): boolean {
  return callee.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(callee) && callee.text === 'require')
}

function isTypeOnlyImport(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined) return false
  if (clause.isTypeOnly) return true
  const named = clause.namedBindings
  return (
    clause.name === undefined &&
    named !== undefined &&
    ts.isNamedImports(named) &&
    named.elements.length > 0 &&
    named.elements.every((element) => element.isTypeOnly)
  )
}

function isTypeOnlyExport({ isTypeOnly, exportClause }: ts.ExportDeclaration): boolean {
  if (isTypeOnly) return true
  return (
    exportClause !== undefined &&
    ts.isNamedExports(exportClause) &&
    exportClause.elements.length > 0 &&
    exportClause.elements.every((element) => element.isTypeOnly)
  )
}

function nameOf(node: ts.SignatureDeclaration): string {
  const named = node.name === undefined ? node.parent : node
  return 'name' in named && named.name !== undefined ? (named.name as ts.Node).getText() : '' // a declaration's name is a node
}
