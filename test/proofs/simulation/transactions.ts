import type { TransactionClaim } from 'postern'
import type { Commit } from './engine.ts'
import type { LifeFacts } from './facts.ts'
import { judgeCommit } from './judge-order.ts'
import type { Life } from './life.ts'
import type { World } from './world.ts'

/** The connection through which a handler writes in its transaction. */
export interface Tx {
  write(): unknown
}

/** Records that a transaction has ended, either way. */
export function noteEnd({ history }: World, life: Life, { key, mark }: TransactionClaim): void {
  const event = history.findByKey(key)
  const run = event && history.lastRunIn(life, event, mark)
  if (run?.isLeftToTransaction === true && life.isAlive) history.end(run)
}

/** Commits the row of a handler with its mark, if the engine accepts it. */
export function commit(world: World, life: LifeFacts, claim: TransactionClaim): Commit {
  const answer = world.host.engine.commit(claim, () => noteCommit(world, life, claim))
  if (answer !== 'committed') world.visit(`commit refused: ${answer}`)
  return answer
}

/** Records that a transaction was committed: the handler's row exists, and so does its finish mark. Returns how the row is undone. */
function noteCommit(world: World, life: LifeFacts, { key, token, mark }: TransactionClaim): () => void {
  const { history, ledger, findings } = world
  const event = history.findByKey(key)
  const run = event && history.lastRunIn(life, event, mark)
  if (run === undefined) {
    findings.add(
      'mark without work',
      `${life.name} committed the mark "${mark}" for ${key}, where no such handler runs`,
    )
    return () => {}
  }
  judgeCommit(world, run)
  history.complete(run)
  ledger.onCommit({ life, key, token, askedAt: world.now }, mark)
  return history.addRow(run)
}
