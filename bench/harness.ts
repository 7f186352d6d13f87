import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const KEPT_STDERR = 4_000

/** A program in its own process, which answers one message at a time. */
export class Contestant {
  readonly name: string
  readonly #child: ChildProcess
  /** The end of its output on standard error. Shown only if it fails: the self-checks make receivers warn of forged deliveries. */
  #stderr = ''

  constructor(name: string, program: string, args: readonly string[], execArgv: readonly string[] = []) {
    this.name = name
    // Without the loader of this process: contestants are plain JavaScript and import the built package.
    this.#child = fork(fileURLToPath(new URL(program, import.meta.url)), args, {
      execArgv: [...execArgv],
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    })
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-KEPT_STDERR)
    })
  }

  ask<Answer>(question: object): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const onExit = (code: number | null) => reject(new Error(`${this.name} ended with ${code}\n${this.#stderr}`))
      this.#child.once('close', onExit)
      this.#child.once('message', (answer: Answer | { error: string }) => {
        this.#child.off('close', onExit)
        if (typeof answer === 'object' && answer !== null && 'error' in answer)
          reject(new Error(`${this.name}: ${answer.error}`))
        else resolve(answer as Answer) // each program answers its own questions
      })
      this.#child.send(question)
    })
  }

  stop(): void {
    this.#child.kill()
  }
}

/** The number of rounds, and of rounds before those that are not counted. */
export interface Effort {
  readonly warmUp: number
  readonly rounds: number
}

/**
 * Returns the figures of each contestant, one a round. In a round all of them run in turn, so that other load on the machine affects all of
 * them alike.
 */
export async function playRounds<Figure>(
  contestants: readonly Contestant[],
  { warmUp, rounds }: Effort,
  play: (contestant: Contestant) => Promise<Figure>,
): Promise<readonly (readonly Figure[])[]> {
  const figures = contestants.map((): Figure[] => [])
  for (let round = -warmUp; round < rounds; round++)
    for (const [index, contestant] of contestants.entries()) {
      const figure = await play(contestant)
      if (round >= 0) figures[index]?.push(figure)
    }
  return figures
}

/** Returns the median over the rounds of one of the figures. */
export function medianOf<Figure>(figures: readonly Figure[], pick: (figure: Figure) => number): number {
  return median(figures.map(pick))
}

/** Returns the median of the ratios within each round. */
export function ratioOf<Figure>(
  figures: readonly Figure[],
  base: readonly Figure[],
  pick: (figure: Figure) => number,
): number {
  return median(ratios(figures.map(pick), base.map(pick)))
}

export function ratios(times: readonly number[], base: readonly number[]): readonly number[] {
  return times.map((time, round) => time / (base[round] ?? Number.NaN))
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.round((sorted.length - 1) * share)] ?? Number.NaN
}

export function print(title: string, rows: readonly (readonly string[])[]): void {
  console.log(`\n${title}`)
  const widths = rows.reduce<number[]>(
    (most, row) => row.map((cell, column) => Math.max(most[column] ?? 0, cell.length)),
    [],
  )
  for (const row of rows)
    console.log(
      `  ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  ')}`.trimEnd(),
    )
}
