import { describe, expect, it } from 'vitest'
import { createIds, createRandom } from '../../tools/emulator/random.ts'

describe('random values', () => {
  it('are the same in the same order for the same seed, and never repeat', () => {
    const [one, two, other] = ['a', 'a', 'b'].map((seed) => createRandom(seed))
    const draw = (random = createRandom()) => Array.from({ length: 100 }, () => random.hex(24))
    const drawn = draw(one)
    expect(draw(two)).toEqual(drawn)
    expect(new Set([...drawn, ...draw(other), ...draw(), ...draw()]).size).toBe(400)
  })

  it('include a number for each text that spreads from 0 to 1, whatever was drawn before', () => {
    const [one, two] = [createRandom('a'), createRandom('a')]
    one.hex(24)
    const numbers = Array.from({ length: 1_000 }, (_, index) => one.numberOf(`text ${index}`))
    expect(numbers).toEqual(numbers.map((_, index) => two.numberOf(`text ${index}`)))
    for (const tenth of [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
      expect(numbers.some((number) => number >= tenth && number < tenth + 0.1)).toBe(true)
    expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true)
  })
})

describe('ids', () => {
  it.each([
    ['hex', /^[0-9a-f]{24}$/, /^evt_[0-9a-f]{24}$/],
    ['uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/, /^[0-9a-f]{8}-[0-9a-f-]{27}$/],
    ['number', /^\d{1,16}$/, /^\d{1,16}$/],
  ] as const)('of the form %s (A37) are all different, and the same for the same seed', (form, object, event) => {
    const [one, two] = [createIds(createRandom('a'), form), createIds(createRandom('a'), form)]
    const made = Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? one.object() : one.event()))
    for (const [index, id] of made.entries()) expect(id).toMatch(index % 2 === 0 ? object : event)
    expect(new Set(made).size).toBe(200)
    expect([two.object(), two.event()]).toEqual(made.slice(0, 2))
  })

  it('of digits are whole numbers that JavaScript holds exactly, and use their whole range', () => {
    const ids = createIds(createRandom('a'), 'number')
    const numbers = Array.from({ length: 100 }, () => Number(ids.object()))
    expect(numbers.every(Number.isSafeInteger)).toBe(true)
    expect(Math.max(...numbers)).toBeGreaterThan(2 ** 50)
  })
})
