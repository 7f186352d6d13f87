/** Mixes numbers and words into 32 bits: the same parts always make the same number. */
function mix(...parts: readonly (number | string)[]): number {
  let hash = 0x9e3779b9
  for (const part of parts) {
    if (typeof part === 'string')
      for (let index = 0; index < part.length; index++) hash = stir(hash, part.charCodeAt(index))
    else hash = stir(stir(hash, part | 0), Math.floor(part / 0x1_0000_0000) | 0)
    hash = stir(hash, 0x7f)
  }
  return hash >>> 0
}

function stir(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, 0x85ebca6b)
  return Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35) ^ (mixed >>> 16)
}

/**
 * A source of chance (sfc32). Each element of a plan draws from its own source, seeded by the element's name, so that removing an element
 * from a plan does not change the others' draws.
 */
export class Chance {
  #a: number
  #b: number
  #c: number
  #count = 1

  constructor(...parts: readonly (number | string)[]) {
    const seed = mix(...parts)
    this.#a = seed
    this.#b = stir(seed, 1)
    this.#c = stir(seed, 2)
    for (let round = 0; round < 4; round++) this.number()
  }

  /** Returns a number from 0 up to, and without, 1. */
  number(): number {
    const sum = (this.#a + this.#b + this.#count++) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return (sum >>> 0) / 0x1_0000_0000
  }

  /** Returns a whole number from `least` to `most`, both included. */
  int(least: number, most: number): number {
    return least + Math.floor(this.number() * (most - least + 1))
  }

  /** Returns true with this probability. */
  happens(probability: number): boolean {
    return this.number() < probability
  }

  /** Returns one of the values. */
  pick<const T>(values: readonly [T, ...T[]]): T {
    return values[this.int(0, values.length - 1)] ?? values[0]
  }

  /** Returns one of the values, each as often as its weight says. */
  weigh<T>(...values: readonly (readonly [weight: number, value: T])[]): T {
    let left = this.number() * values.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, value] of values) {
      left -= weight
      if (left < 0) return value
    }
    throw new RangeError('Chance.weigh() needs a value with a weight above 0.')
  }

  /** Returns a list of `least` to `most` values, each made by `make`. */
  list<T>(least: number, most: number, make: (index: number) => T): T[] {
    return Array.from({ length: this.int(least, most) }, (_, index) => make(index))
  }
}
