/** Measures whether the time of `verify` reveals the first digit at which a forged signature differs. */
import { sign, verify } from 'postern'
import { events, signed } from 'postern/testing'
import { report } from './figures.ts'

const CALLS = 20_000
const WARM_UP = 5_000
const SECRET = 'whsec_timing'

const { body: bytes } = signed(events.contact.created(), { secret: SECRET })
const good = sign(bytes, SECRET)
const flip = (digit: string | undefined) => (digit === '0' ? '1' : '0')
const firstDiffers = `sha256=${flip(good[7])}${good.slice(8)}`
const lastDiffers = good.slice(0, -1) + flip(good.at(-1))

function time(signature: string): number {
  const startedAt = process.hrtime.bigint()
  if (verify(bytes, signature, SECRET)) throw new Error('a forged signature was accepted')
  return Number(process.hrtime.bigint() - startedAt)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}

const times: Readonly<Record<string, number[]>> = { [firstDiffers]: [], [lastDiffers]: [] }
const pair = [firstDiffers, lastDiffers] as const
for (let call = 0; call < WARM_UP; call++) time(pair[call % 2 === 0 ? 0 : 1])
// Each pair runs in random order: other load on the machine affects both alike.
for (let call = 0; call < CALLS / 2; call++)
  for (const signature of Math.random() < 0.5 ? pair : pair.toReversed()) times[signature]?.push(time(signature))

const [first, last] = [median(times[firstDiffers] ?? []), median(times[lastDiffers] ?? [])]
const ratio = first / last
report({
  name: `verify, first against last differing digit, ${CALLS} calls`,
  measured: `ratio ${ratio.toFixed(3)} (${first} and ${last} ns)`,
  goal: '0.95 to 1.05',
  isMet: ratio >= 0.95 && ratio <= 1.05,
})
