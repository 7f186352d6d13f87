import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A program in a process of its own, which answers one message at a time. */
export class Contestant {
  readonly name: string
  readonly #child: ChildProcess

  constructor(name: string, program: string, args: readonly string[], execArgv: readonly string[] = []) {
    this.name = name
    // No loader of this process: contestants are plain JavaScript, and import what was built.
    this.#child = fork(fileURLToPath(new URL(program, import.meta.url)), args, { execArgv: [...execArgv] })
  }

  ask<Answer>(question: object): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const onExit = (code: number | null) => reject(new Error(`${this.name} ended with ${code}`))
      this.#child.once('exit', onExit)
      this.#child.once('message', (answer: Answer | { error: string }) => {
        this.#child.off('exit', onExit)
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

/** CPU time of every contestant in each round: one round of each in turn, so that what else the machine does hits all alike. */
export async function playRounds(
  contestants: readonly Contestant[],
  { warmUp, rounds }: { readonly warmUp: number; readonly rounds: number },
  play: (contestant: Contestant) => Promise<number>,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const times = new Map<string, number[]>(contestants.map(({ name }) => [name, []]))
  for (let round = -warmUp; round < rounds; round++)
    for (const contestant of contestants) {
      const time = await play(contestant)
      if (round >= 0) times.get(contestant.name)?.push(time)
    }
  return times
}

/** The median of the ratios within each round. */
export function ratio(times: ReadonlyMap<string, readonly number[]>, name: string, to: string): number {
  const base = times.get(to) ?? []
  return median((times.get(name) ?? []).map((time, round) => time / (base[round] ?? Number.NaN)))
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[sorted.length >> 1] ?? Number.NaN
}

export function print(title: string, rows: readonly (readonly string[])[]): void {
  console.log(`\n${title}`)
  const widths = rows.reduce<number[]>(
    (most, row) => row.map((cell, column) => Math.max(most[column] ?? 0, cell.length)),
    [],
  )
  for (const row of rows)
    console.log(
      `  ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  ')}`,
    )
}
