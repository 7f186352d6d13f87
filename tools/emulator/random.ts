import { createHash, randomBytes } from 'node:crypto'
import type { Assumed } from './assumptions.ts'

export type Random = ReturnType<typeof createRandom>

/** Creates a source. Equal seeds produce equal values in the same order; without a seed, the values are unpredictable. */
export function createRandom(seed: string = randomBytes(32).toString('hex')) {
  let count = 0
  const hashOf = (text: string | number) => createHash('sha256').update(`${seed}:${text}`).digest('hex')
  return {
    hex: (digits: number) => hashOf(++count).slice(0, digits),
    /** Returns a number from 0 to 1, without 1: always the same for the same text. */
    numberOf: (text: string) => Number.parseInt(hashOf(text).slice(0, 12), 16) / 2 ** 48,
  }
}

/** Source of ids in the form that the service may use (A37). */
export type Ids = ReturnType<typeof createIds>

export function createIds(random: Random, form: Assumed['idForm']) {
  const object = () => {
    const digits = random.hex(form === 'uuid' ? 32 : 24)
    if (form === 'number') return String(Number.parseInt(digits.slice(0, 13), 16))
    if (form === 'uuid') return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-8$4-$5')
    return digits
  }
  return { object, event: form === 'hex' ? () => `evt_${object()}` : object }
}
