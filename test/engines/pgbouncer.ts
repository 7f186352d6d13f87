import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '../support/programs.ts'
import { answers, unprivilegedUser } from './postgres-server.ts'
import { findEngine } from './require.ts'

/** The path of Debian's pgbouncer, if it is installed. */
export const pgBouncerProgram: string | undefined = findEngine('pgbouncer', '/usr/sbin')

/** A pooler in transaction mode before a server on a port: each transaction may get another of its few connections. */
export async function startPgBouncer(serverPort: number): Promise<{ readonly url: string; remove(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-pgbouncer-'))
  const user = unprivilegedUser()
  const port = await findFreePort()
  const settings = join(folder, 'pgbouncer.ini')
  writeFileSync(
    settings,
    `[databases]
postgres = host=127.0.0.1 port=${serverPort} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 200
`,
  )
  if (user !== undefined) for (const path of [folder, settings]) chownSync(path, user.uid, user.gid)
  const child = spawn(pgBouncerProgram ?? 'pgbouncer', [settings], { ...user, stdio: ['ignore', 'ignore', 'pipe'] })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-2_000)
  })
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  while (!(await answers(url))) if (child.exitCode !== null) throw new Error(`pgbouncer ended: ${output}`)
  return {
    url,
    async remove() {
      const ended = once(child, 'close')
      child.kill('SIGINT')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
