import ts from 'typescript'
import { ROOT } from './repository.ts'

/** The compiler options of this repository's tsconfig.json. */
export function compilerOptions(): ts.CompilerOptions {
  const { config, error } = ts.readConfigFile(`${ROOT}tsconfig.json`, ts.sys.readFile)
  if (error !== undefined) throw new Error(ts.flattenDiagnosticMessageText(error.messageText, '\n'))
  return ts.parseJsonConfigFileContent(config, ts.sys, ROOT).options
}

/** Returns the exports of a module, one line each: `sign (value)`, `Store (type)`, `PosternError (class)`. */
export function listExports(path: string): readonly string[] {
  const program = ts.createProgram([ROOT + path], compilerOptions())
  const checker = program.getTypeChecker()
  const file = program.getSourceFile(ROOT + path)
  const module = file && checker.getSymbolAtLocation(file)
  if (module === undefined) throw new Error(`${path} is not a module`)
  return checker
    .getExportsOfModule(module)
    .map((symbol) => `${symbol.name} (${kindOf(symbol, checker)})`)
    .sort()
}

function kindOf(symbol: ts.Symbol, checker: ts.TypeChecker): 'class' | 'type' | 'value' {
  const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0
  const target = isAlias ? checker.getAliasedSymbol(symbol) : symbol
  if (symbol.declarations?.some((declaration) => ts.isTypeOnlyExportDeclaration(declaration))) return 'type'
  if ((target.flags & ts.SymbolFlags.Class) !== 0) return 'class'
  return (target.flags & ts.SymbolFlags.Value) !== 0 ? 'value' : 'type'
}

/**
 * Checks source texts as separate modules, strictly and against the source of the package. They are never written to disk.
 *
 * @param texts text by path from the root, whose path decides which `node_modules` they see
 * @returns one line per error, with the path and line
 */
export function checkTypes(texts: ReadonlyMap<string, string>): readonly string[] {
  const options: ts.CompilerOptions = { ...compilerOptions(), allowJs: true, checkJs: false }
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  const textOf = (path: string) => (path.startsWith(ROOT) ? texts.get(path.slice(ROOT.length)) : undefined)
  host.fileExists = (path) => textOf(path) !== undefined || fileExists(path)
  host.readFile = (path) => textOf(path) ?? readFile(path)
  host.getSourceFile = (path, target, ...rest) => {
    const text = textOf(path)
    return text === undefined ? getSourceFile(path, target, ...rest) : ts.createSourceFile(path, text, target)
  }
  const program = ts.createProgram(
    [...texts.keys()].map((path) => ROOT + path),
    options,
    host,
  )
  return ts.getPreEmitDiagnostics(program).map(toLine)
}

function toLine({ file, start, messageText }: ts.Diagnostic): string {
  const message = ts.flattenDiagnosticMessageText(messageText, '\n')
  if (file === undefined || start === undefined) return message
  return `${file.fileName.replace(ROOT, '')}:${file.getLineAndCharacterOfPosition(start).line + 1} ${message}`
}
