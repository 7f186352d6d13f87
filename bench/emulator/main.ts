import { Contestant, median, playRounds, print, ratio } from '../harness.ts'

const FLOOR = 'fetch-loop'
const NAMES = [FLOOR, 'emulator']

/** How fast the emulator delivers, against a bare loop of signed fetches, to the same receiver in a process of its own. */
export async function benchEmulator({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  const receiver = new Contestant('receiver', 'http/server.mjs', ['node-postern'])
  const senders: Contestant[] = []
  try {
    const url = `http://127.0.0.1:${await receiver.ask<number>({ port: true })}/`
    senders.push(...NAMES.map((name) => new Contestant(name, 'emulator/sender.mjs', [name, url])))
    const count = 1_000
    const effort = isQuick ? { warmUp: 2, rounds: 5 } : { warmUp: 3, rounds: 11 }
    const walls = new Map<string, number[]>()
    const cpus = await playRounds(senders, effort, async (sender) => {
      await receiver.ask({ mark: true })
      const { cpu, wall } = await sender.ask<{ cpu: number; wall: number }>({ count })
      const { handled } = await receiver.ask<{ handled: number }>({ mark: true })
      if (handled !== count) throw new Error(`${handled} of ${count} deliveries of ${sender.name} were handled`)
      walls.set(sender.name, [...(walls.get(sender.name) ?? []), wall])
      return cpu
    })
    for (const [name, times] of walls) walls.set(name, times.slice(-effort.rounds)) // without the warm-up
    print(`emulator, 611 bytes, 8 at once: a delivery (median of ${effort.rounds} rounds)`, [
      ['', 'CPU µs', 'ratio', 'deliveries a second', 'ratio of rates'],
      ...NAMES.map((name) => [
        name,
        median(cpus.get(name) ?? []).toFixed(0),
        ratio(cpus, name, FLOOR).toFixed(2),
        (1e6 / median(walls.get(name) ?? [])).toFixed(0),
        ratio(walls, FLOOR, name).toFixed(2),
      ]),
    ])
  } finally {
    for (const contestant of [receiver, ...senders]) contestant.stop()
  }
}
