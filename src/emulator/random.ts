import { createHash, randomBytes } from 'node:crypto'
import type { Assumed } from './assumptions.ts'

/** Source of everything that is drawn: ids and faults. */
export interface Random {
  hex(digits: number): string
  /** From 0 up to, and without, 1: the same each time for the same text. */
  numberOf(text: string): number
}

/** Makes draws: equal ones in equal order for equal seeds; without a seed, draws that nobody can foresee. */
export function createRandom(seed: string = randomBytes(32).toString('hex')): Random {
  let count = 0
  const hashOf = (text: string | number) => createHash('sha256').update(`${seed}:${text}`).digest('hex')
  return {
    hex: (digits) => hashOf(++count).slice(0, digits),
    numberOf: (text) => Number.parseInt(hashOf(text).slice(0, 12), 16) / 2 ** 48,
  }
}

/** Makes ids as the service may write them (A37). */
export interface Ids {
  /** Of an event. */
  event(): string
  /** Of anything else. */
  object(): string
}

export function createIds(random: Random, form: Assumed['idForm']): Ids {
  const object = () => {
    const digits = random.hex(form === 'uuid' ? 32 : 24)
    if (form === 'number') return String(Number.parseInt(digits.slice(0, 13), 16))
    if (form === 'uuid') return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5')
    return digits
  }
  return { object, event: form === 'hex' ? () => `evt_${object()}` : object }
}
