import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { formatAttempt } from '../../src/cli/output/attempt-line.ts'

const LINE = {
  at: new Date(2025, 0, 1, 12, 0, 1).getTime(),
  type: 'contact.created',
  eventId: 'evt_1',
  step: '2/5',
  result: '500',
  isAcknowledged: false,
  durationMs: 3.6,
  note: 'next in 30 s',
}

describe('the line of an attempt', () => {
  it.each([true, false])('has columns, coloured or not: %s', (isColoured) => {
    const text = formatAttempt(LINE, isColoured)
    expect(stripVTControlCharacters(text)).toBe(
      '12:00:01  contact.created             evt_1                         2/5     500          4 ms  next in 30 s',
    )
    if (!isColoured) expect(text).not.toContain('\u001b')
  })

  it.each(['type', 'eventId', 'result'])('lets no text of the sender reach the terminal as a command: %s', (field) => {
    const text = formatAttempt({ ...LINE, [field]: 'x\u001b[2J\u009b\n' }, false)
    expect(text).toContain('x?[2J??')
    expect(text).not.toMatch(/\p{Cc}/u)
  })
})
