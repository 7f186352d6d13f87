type Stream = 'stdout' | 'stderr'

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

  /** Resolves once one of the streams contains the text; rejects if the program, by its `exitCode`, ends without it. */
  until(pattern: RegExp, exitCode: Promise<unknown>): Promise<void> {
    return new Promise((resolve, reject) => {
      const watch = () => {
        if (pattern.test(this.stdout) || pattern.test(this.stderr)) resolve()
      }
      this.#watchers.add(watch)
      watch()
      const fail = (code: unknown) => reject(new Error(`ended with ${code}:\n${this.stdout}\n${this.stderr}`))
      exitCode.then(fail, fail)
    })
  }
}
