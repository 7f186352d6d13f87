import { expect, it } from 'vitest'
import { HELP, readTask } from './options.ts'

it.each([
  ['--help', { do: 'help' }],
  ['--faults', { do: 'list faults' }],
  ['--seed 7 --trace', { do: 'run one', world: 'direct', seed: 7, isTraced: true, isShrunk: false, fault: undefined }],
  ['--seed 7 --shrunk', { do: 'run one', world: 'direct', seed: 7, isTraced: false, isShrunk: true, fault: undefined }],
  ['--inbox --seed 7', { do: 'run one', world: 'inbox', seed: 7, isTraced: false, isShrunk: false, fault: undefined }],
  ['--fault busy-counts --seeds 0..1', { do: 'run many', world: 'inbox', from: 0, count: 2, fault: 'busy-counts' }],
  ['--seeds 5..9', { do: 'run many', world: 'direct', from: 5, count: 5, fault: undefined }],
  ['--from 3 --count 4', { do: 'run many', world: 'direct', from: 3, count: 4, fault: undefined }],
  ['--fault marks-by-position', { do: 'run many', world: 'direct', from: 0, count: 1_000, fault: 'marks-by-position' }],
  ['--find --count 9', { do: 'find faults', from: 0, count: 9, fault: undefined }],
])('reads %s', (line, task) => {
  expect(readTask(line.split(' '))).toEqual(task)
})

it.each([
  ['--seed x', '--seed takes a whole number, not "x".'],
  ['--seeds 1', '--seeds takes a whole number on both sides of "..", not "".'],
  ['--fault nothing', 'There is no planted fault "nothing".'],
  ['--trace', '--trace and --shrunk need a --seed.'],
  ['--sed 7', "Unknown option '--sed'"],
])('refuses %s', (line, message) => {
  expect(() => readTask(line.split(' '))).toThrow(message)
})

it('lists every option in its help', () => {
  for (const option of ['seed', 'inbox', 'trace', 'shrunk', 'seeds', 'from', 'count', 'fault', 'faults', 'find'])
    expect(HELP).toContain(`--${option} `)
})
