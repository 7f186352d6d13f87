import { type EngineKind, type HandlerPlan, nameOf, type Theme } from './plan.ts'
import type { Chance } from './random.ts'

const PATTERNS = [
  'contact.created',
  'contact.*',
  '*.created',
  '*',
  'invoice.created',
  'invoice.*',
  'sync.completed',
] as const
const NAMES = ['crm', 'audit', 'mail', 'search', 'billing', 'metrics'] as const

/** Draws the handlers of the first deployment. */
export function drawHandlers(chance: Chance, engine: EngineKind, theme: Theme): readonly HandlerPlan[] {
  const handlers: HandlerPlan[] = []
  for (let left = chance.int(1, theme === 'contention' ? 2 : 4); left > 0; left--) addHandler(chance, handlers, engine)
  return handlers
}

function addHandler(chance: Chance, handlers: HandlerPlan[], engine: EngineKind): void {
  const pattern = chance.pick([...PATTERNS, 'contact.created', 'contact.created'])
  const isTaken = (name: string | undefined) =>
    handlers.some((other) => other.name === name && (name !== undefined || other.pattern === pattern))
  const free = [undefined, ...NAMES].filter((name) => !isTaken(name))
  const name = free[chance.int(0, free.length - 1)]
  const isTransactional = (engine === 'transactions' || engine === 'shared file') && chance.happens(0.6)
  handlers.push({ pattern, name, isTransactional, isOrdered: false })
}

/** Draws the changes of the handlers in the next version of the code. */
export function redeploy(chance: Chance, before: readonly HandlerPlan[], engine: EngineKind): readonly HandlerPlan[] {
  const handlers = [...before]
  const place = chance.int(0, handlers.length - 1)
  const chosen = handlers[place]
  const what = chance.pick(['rename', 'reverse', 'add', 'remove', 'move first', 'widen'])
  if (what === 'reverse') handlers.reverse()
  if (what === 'add') addHandler(chance, handlers, engine)
  if (what === 'remove' && handlers.length > 1) handlers.splice(place, 1)
  if (what === 'move first' && chosen !== undefined) handlers.unshift(...handlers.splice(place, 1))
  if (what === 'rename' && chosen !== undefined) handlers[place] = { ...chosen, name: newName(chosen, handlers) }
  if (what === 'widen' && chosen?.name !== undefined) handlers[place] = { ...chosen, pattern: '*' }
  return handlers
}

function newName(chosen: HandlerPlan, handlers: readonly HandlerPlan[]): string {
  let name = nameOf(chosen)
  while (handlers.some((other) => nameOf(other) === name)) name += '-2'
  return name
}
