import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DueQueue } from '../../tools/emulator/due-queue.ts'

describe('the queue of due items', () => {
  it('is empty at first and once it is cleared', () => {
    const queue = new DueQueue<string>()
    expect([queue.nextAt, queue.takeDue(Infinity)]).toEqual([undefined, undefined])
    queue.push(5, 'a')
    queue.push(3, 'b')
    expect([queue.nextAt, queue.takeDue(2)]).toEqual([3, undefined])
    queue.clear()
    expect([queue.nextAt, queue.takeDue(Infinity)]).toEqual([undefined, undefined])
  })

  it('behaves like a sorted list, no matter how pushes and takes follow each other', () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ push: fc.integer({ min: 0, max: 20 }) }),
        fc.record({ take: fc.integer({ min: 0, max: 20 }) }),
      ),
      { maxLength: 120 },
    )
    fc.assert(
      fc.property(steps, (all) => {
        const queue = new DueQueue<number>()
        let model: { at: number; item: number }[] = []
        for (const [item, step] of all.entries()) {
          if ('push' in step) {
            queue.push(step.push, item)
            model = [...model, { at: step.push, item }].sort((a, b) => a.at - b.at || a.item - b.item)
          } else {
            const [first] = model
            const isDue = first !== undefined && first.at <= step.take
            expect(queue.takeDue(step.take)).toBe(isDue ? first.item : undefined)
            if (isDue) model = model.slice(1)
          }
          expect([queue.nextAt, queue.nextAtOf((each) => each % 2 === 0)]).toEqual([
            model[0]?.at,
            model.find((each) => each.item % 2 === 0)?.at,
          ])
        }
      }),
    )
  })
})
