/** `npm run bench`: every figure that the docs state, measured side by side in one run. `npm run bench -- in-process http` picks sections. */
import { benchComparison } from './comparison/main.ts'
import { benchCost } from './cost/main.ts'
import { benchHttp } from './http/main.ts'
import { benchInProcess } from './in-process/main.ts'
import { benchBullmq } from './inbox/bullmq.ts'
import { benchInbox } from './inbox/main.ts'
import { benchPostgresInbox } from './inbox/postgres.ts'
import { benchPostgres } from './postgres/main.ts'
import { benchRedis } from './redis/main.ts'
import { benchRefusals } from './refusals/main.ts'
import { benchSqlite } from './sqlite/main.ts'

const SECTIONS: Readonly<Record<string, (options: { readonly isQuick: boolean }) => Promise<void>>> = {
  comparison: benchComparison,
  cost: benchCost,
  http: benchHttp,
  inbox: benchInboxes,
  'in-process': benchInProcess,
  redis: benchRedis,
  postgres: benchPostgres,
  refusals: benchRefusals,
  sqlite: benchSqlite,
}

async function benchInboxes(options: { readonly isQuick: boolean }): Promise<void> {
  await benchInbox(options)
  await benchPostgresInbox(options)
  await benchBullmq(options)
}

const flags = process.argv.slice(2)
const isQuick = flags.includes('--quick')
const chosen = flags.filter((flag) => !flag.startsWith('--'))
const stray = chosen.find((name) => !(name in SECTIONS))
if (stray !== undefined || flags.includes('--help')) {
  console.log(`usage: npm run bench -- [--quick] [${Object.keys(SECTIONS).join('] [')}]`)
  process.exit(stray === undefined ? 0 : 2)
}
console.log(`Node ${process.version}, ${process.platform} ${process.arch}`)
for (const [name, bench] of Object.entries(SECTIONS))
  if (chosen.length === 0 || chosen.includes(name)) await bench({ isQuick })
