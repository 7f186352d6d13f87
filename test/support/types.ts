import ts from 'typescript'
import { ROOT } from './repository.ts'

/** The compiler options of this repository's tsconfig.json. */
export function compilerOptions(): ts.CompilerOptions {
  const { config, error } = ts.readConfigFile(`${ROOT}tsconfig.json`, ts.sys.readFile)
  if (error !== undefined) throw new Error(ts.flattenDiagnosticMessageText(error.messageText, '\n'))
  return ts.parseJsonConfigFileContent(config, ts.sys, ROOT).options
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
