type Stream = 'stdout' | 'stderr'

const LIMIT_MS = 290_000

/** The output of a program so far, for callers that wait for words in it. */
export class Written {
  readonly #texts = { stdout: '', stderr: '' }
  readonly #watchers = new Set<() => void>()

  get stdout(): string {
    return this.#texts.stdout
  }

  get stderr(): string {
    return this.#texts.stderr
  }

  add(stream: Stream, text: string): void {
    this.#texts[stream] += text
    for (const watch of this.#watchers) watch()
  }

  /** Resolves once one of the streams contains the text; rejects with the whole output if the program, by its `exitCode`, ends without it, or before the test's limit would end it without a word. */
  until(pattern: RegExp, exitCode: Promise<unknown>): Promise<void> {
    return new Promise((resolve, reject) => {
      const watch = () => {
        if (pattern.test(this.stdout) || pattern.test(this.stderr)) resolve()
      }
      this.#watchers.add(watch)
      watch()
      const fail = (how: string) => reject(new Error(`${how}:\n${this.stdout}\n${this.stderr}`))
      const end = (code: unknown) => fail(`ended with ${code}`)
      exitCode.then(end, end)
      setTimeout(() => fail(`did not print ${pattern} in ${LIMIT_MS} ms`), LIMIT_MS).unref()
    })
  }
}
