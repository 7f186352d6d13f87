import { parseArgs } from 'node:util'
import { PLANTED_FAULTS } from './planted-faults.ts'
import type { WorldName } from './worlds.ts'

export const HELP = `npm run simulate -- [options]

  --seed N          one run, and its verdict
  --inbox           with receivers that have an inbox, and workers: a world in which each seed is another run
  --trace           with each step of the run
  --shrunk          the shortest run that fails like this seed, instead of the whole one
  --seeds A..B      many runs on all cores (default 0..999)
  --fault NAME      with a planted fault; see test/proofs/simulation/planted
  --find            searches these seeds for each planted fault, or for the one that --fault names
  --help

  npm run simulate -- --seed 7 --trace
  npm run simulate -- --seeds 0..99999
  npm run simulate -- --inbox --seeds 0..9999
  npm run simulate -- --fault released-without-marks --seeds 0..199

Exit codes: 0 all is well, 1 a violation was found, 2 usage.`

/** The options of the command line. */
export type Task =
  | { readonly do: 'help' }
  | {
      readonly do: 'run one'
      readonly world: WorldName
      readonly seed: number
      readonly isTraced: boolean
      readonly isShrunk: boolean
      readonly fault: string | undefined
    }
  | { readonly do: 'find faults'; readonly from: number; readonly count: number; readonly fault: string | undefined }
  | {
      readonly do: 'run many'
      readonly world: WorldName
      readonly from: number
      readonly count: number
      readonly fault: string | undefined
    }

/** Reads the command line. Throws an error that names the mistake. */
export function readTask(args: readonly string[]): Task {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string' },
      inbox: { type: 'boolean', default: false },
      trace: { type: 'boolean', default: false },
      shrunk: { type: 'boolean', default: false },
      seeds: { type: 'string', default: '0..999' },
      fault: { type: 'string' },
      find: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return { do: 'help' }
  const { fault, seed, seeds } = values
  const planted = PLANTED_FAULTS.find(({ name }) => name === fault)
  if (fault !== undefined && planted === undefined)
    throw new Error(`There is no planted fault "${fault}" in test/proofs/simulation/planted.`)
  const world: WorldName = values.inbox || planted?.theme === 'inbox' ? 'inbox' : 'direct'
  if (seed !== undefined)
    return { do: 'run one', world, seed: toSeed('seed', seed), isTraced: values.trace, isShrunk: values.shrunk, fault }
  if (values.trace || values.shrunk) throw new Error('--trace and --shrunk need a --seed.')
  const [first = '', last = ''] = seeds.split('..')
  const from = toSeed('seeds', first)
  const count = Math.max(0, toSeed('seeds', last) - from + 1)
  return values.find ? { do: 'find faults', from, count, fault } : { do: 'run many', world, from, count, fault }
}

function toSeed(option: string, text: string): number {
  const seed = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(seed)) return seed
  throw new Error(
    `--${option} takes a whole number${option === 'seeds' ? ' on both sides of ".."' : ''}, not "${text}".`,
  )
}
