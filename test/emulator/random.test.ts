import { describe, expect, it } from 'vitest'
import { createIds, createRandom } from '../../tools/emulator/random.ts'

describe('ids', () => {
  it.each([
    ['hex', /^(evt_)?[0-9a-f]{24}$/],
    ['uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/],
    ['number', /^[0-9]{1,16}$/],
  ] as const)('of the form %s (A37) are all different, and the same for the same seed', (form, text) => {
    const [one, two] = [createIds(createRandom('a'), form), createIds(createRandom('a'), form)]
    const made = Array.from({ length: 100 }, () => [one.object(), one.event()]).flat()
    for (const id of made) expect(id).toMatch(text)
    expect(new Set(made).size).toBe(200)
    expect([two.object(), two.event()]).toEqual(made.slice(0, 2))
  })
})
