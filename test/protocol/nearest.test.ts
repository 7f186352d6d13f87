import { describe, expect, it } from 'vitest'
import { findNearest } from '../../src/protocol/nearest.ts'

describe('the nearest word', () => {
  it.each([
    ['contcat', ['contact', 'context'], 'contact'],
    ['Contact', ['contact'], 'contact'],
    ['contact', ['context', 'contact'], 'contact'],
    ['id', ['_id'], '_id'],
    ['in', ['at'], undefined],
    ['seed', ['seal'], undefined],
    ['seeds', ['seals'], 'seals'],
    ['', ['a'], 'a'],
  ])('is found for %j among %j: %j', (word, candidates, nearest) => {
    expect(findNearest(word, candidates)).toBe(nearest)
  })
})

it.each([
  ['', 'ab', 2],
  ['ab', 'xyab', 2],
  ['ab', 'ba', 1],
  ['abcd', 'badc', 2],
  ['xabc', 'xacb', 1],
  ['abc', 'bca', 2],
  ['abxcd', 'baycd', 2],
])('counts the slips from %j to %j: %d', (word, candidate, slips) => {
  expect(findNearest(word, [candidate], slips)).toBe(candidate)
  expect(findNearest(word, [candidate], slips - 1)).toBeUndefined()
})
