import { describe, expect, it } from 'vitest'
import { findNearest } from '../../src/cli/input/nearest.ts'

describe('the nearest word', () => {
  it.each([
    ['contcat', ['contact', 'context'], 'contact'],
    ['contac', ['contact'], 'contact'],
    ['contactt', ['contact'], 'contact'],
    ['kontakt', ['contact'], 'contact'],
    ['Contact', ['contact'], 'contact'],
    ['contact', ['context', 'contact'], 'contact'],
    ['invoice', ['contact'], undefined],
    ['id', ['_id'], '_id'],
    ['in', ['at'], undefined],
    ['', ['a'], 'a'],
    ['x', [], undefined],
  ])('is found for %j among %j: %j', (word, candidates, nearest) => {
    expect(findNearest(word, candidates)).toBe(nearest)
  })
})
