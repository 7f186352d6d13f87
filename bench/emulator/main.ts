import { Contestant, medianOf, playRounds, print, ratioOf } from '../harness.ts'

const NAMES = ['fetch-loop', 'emulator']

interface Figures {
  readonly cpu: number
  readonly wall: number
}

/** Compares the emulator's deliveries with a bare loop of signed fetches, to the same receiver in another process. */
export async function benchEmulator({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  const receiver = new Contestant('receiver', 'http/server.mjs', ['node-postern'])
  const senders: Contestant[] = []
  try {
    const url = `http://127.0.0.1:${await receiver.ask<number>({ port: true })}/`
    senders.push(...NAMES.map((name) => new Contestant(name, 'emulator/sender.mjs', [name, url])))
    const count = 1_000
    const effort = isQuick ? { warmUp: 2, rounds: 5 } : { warmUp: 3, rounds: 11 }
    const [bare = [], emulator = []] = await playRounds(senders, effort, async (sender) => {
      await receiver.ask({ mark: true })
      const figures = await sender.ask<Figures>({ count })
      const { handled } = await receiver.ask<{ handled: number }>({ mark: true })
      if (handled !== count) throw new Error(`${handled} of ${count} deliveries of ${sender.name} were handled`)
      return figures
    })
    print(`emulator, 611 bytes, 8 concurrently: a delivery (median of ${effort.rounds} rounds)`, [
      ['', 'CPU µs', 'ratio', 'deliveries a second', 'ratio of rates'],
      ...[bare, emulator].map((figures, index) => [
        NAMES[index] ?? '',
        medianOf(figures, ({ cpu }) => cpu).toFixed(0),
        ratioOf(figures, bare, ({ cpu }) => cpu).toFixed(2),
        (1e6 / medianOf(figures, ({ wall }) => wall)).toFixed(0),
        ratioOf(bare, figures, ({ wall }) => wall).toFixed(2),
      ]),
    ])
  } finally {
    for (const contestant of [receiver, ...senders]) contestant.stop()
  }
}
