import { createHash, randomBytes } from 'node:crypto'
import type { Assumed } from './assumptions.ts'

/** Source of everything that is drawn: ids and faults. */
export interface Random {
  hex(digits: number): string
  /** From 0 up to, and without, 1. */
  number(): number
}

/** Makes draws: equal ones in equal order for equal seeds; without a seed, draws that nobody can foresee. */
export function createRandom(seed: string | undefined): Random {
  let count = 0
  const hex = (digits: number) => {
    if (seed === undefined)
      return randomBytes(Math.ceil(digits / 2))
        .toString('hex')
        .slice(0, digits)
    count++
    return createHash('sha256').update(`${seed}:${count}`).digest('hex').slice(0, digits)
  }
  return { hex, number: () => Number.parseInt(hex(12), 16) / 2 ** 48 }
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
