import { describe, expect, it } from 'vitest'
import { createIds, createRandom } from '../../tools/emulator/random.ts'

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
})
