import ts from 'typescript'
import { ROOT } from '../support/repository.ts'
import { compilerOptions } from '../support/types.ts'

const PATH = `${ROOT}test/types/snippet.ts`

/** Parsed files of the package and the library, which all editors share. */
const registry = ts.createDocumentRegistry()

/** An editor with one open file, beside the source of the package. The file is never written to disk. */
export class Editor {
  readonly #service: ts.LanguageService
  readonly #text: string

  constructor(lines: readonly string[]) {
    this.#text = lines.join('\n')
    const options = compilerOptions()
    const readFile = (path: string) => (path === PATH ? this.#text : ts.sys.readFile(path))
    const host: ts.LanguageServiceHost = {
      getCompilationSettings: () => options,
      getScriptFileNames: () => [PATH],
      getScriptVersion: (path) => (path === PATH ? this.#text : ''),
      getScriptSnapshot: (path) => {
        const text = readFile(path)
        return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
      },
      getCurrentDirectory: () => ROOT,
      getDefaultLibFileName: (given) => ts.getDefaultLibFilePath(given),
      fileExists: (path) => path === PATH || ts.sys.fileExists(path),
      readFile,
      directoryExists: ts.sys.directoryExists,
      getDirectories: ts.sys.getDirectories,
    }
    this.#service = ts.createLanguageService(host, registry)
  }

  /** Returns the compiler's errors of each line that has some, by the line's text. */
  errors(): ReadonlyMap<string, readonly string[]> {
    const lines = this.#text.split('\n')
    const byLine = new Map<string, string[]>()
    for (const { file, start, messageText } of this.#service.getSemanticDiagnostics(PATH)) {
      const line = lines[file?.getLineAndCharacterOfPosition(start ?? 0).line ?? 0] ?? ''
      byLine.set(line, [...(byLine.get(line) ?? []), ts.flattenDiagnosticMessageText(messageText, '\n')])
    }
    return byLine
  }

  /** Returns the editor's hover text at the place of this text. */
  hover(text: string): string {
    const info = this.#service.getQuickInfoAtPosition(PATH, this.#positionOf(text))
    return ts.displayPartsToString(info?.displayParts)
  }

  /** Returns the editor's completions right behind this text. */
  completions(text: string): readonly string[] {
    const found = this.#service.getCompletionsAtPosition(PATH, this.#positionOf(text) + text.length, undefined)
    return found?.entries.map(({ name }) => name) ?? []
  }

  /** Returns how often the compiler had to instantiate a type to check the file. */
  instantiations(): number {
    this.#service.getSemanticDiagnostics(PATH)
    return this.#service.getProgram()?.getInstantiationCount() ?? 0
  }

  #positionOf(text: string): number {
    const position = this.#text.indexOf(text)
    if (position < 0 || this.#text.includes(text, position + 1)) throw new Error(`"${text}" does not stand there once`)
    return position
  }
}
