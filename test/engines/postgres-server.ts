import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { findFreePort } from '../support/programs.ts'
import { findEngine } from './require.ts'

/** Debian keeps the programs outside of the PATH, by version. */
const DEBIAN = '/usr/lib/postgresql'

/** The path of PostgreSQL's initdb, if it is installed; the server is in the same folder. */
export const postgresProgram: string | undefined = findEngine('initdb', ...debianFolders())

/** A server for the tests: on loopback, in a temporary folder, and removed with them. */
export interface PostgresServer {
  readonly port: number
  readonly url: string
  /** Restarts it in the same place; resolves when it answers. */
  start(): Promise<void>
  /** Ends all its processes immediately, as a crash does (`SIGKILL`), or cuts its connections and ends regularly (`SIGINT`). */
  kill(signal: 'SIGKILL' | 'SIGINT'): Promise<void>
  /** Freezes it: connections stay, answers do not come. */
  freeze(): void
  thaw(): void
  /** Ends it and removes its folder. */
  remove(): Promise<void>
}

/** Starts a server and waits until it answers. A kill loses nothing that it answered; only a power cut would. */
export async function startPostgres(...settings: readonly string[]): Promise<PostgresServer> {
  const programs = join(postgresProgram ?? '', '..')
  const folder = mkdtempSync(join(tmpdir(), 'postern-postgres-'))
  const user = unprivilegedUser()
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  const options = { cwd: folder, ...user }
  const data = join(folder, 'data')
  const initdb = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  execFileSync(join(programs, 'initdb'), initdb, { ...options, stdio: 'pipe' })
  const port = await findFreePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  let child: ChildProcess | undefined
  const all = (signal: NodeJS.Signals) => {
    for (const pid of [child?.pid, ...childrenOf(child?.pid)]) if (pid !== undefined) sendSignal(pid, signal)
  }

  const start = async () => {
    const fixed = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off', ...settings]
    const given = ['-D', data, ...fixed.flatMap((setting) => ['-c', setting])]
    child = spawn(join(programs, 'postgres'), given, { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
    let output = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-2_000)
    })
    while (!(await answers(url))) {
      if (child.exitCode !== null) throw new Error(`postgres ended: ${output}`)
      await sleep(20)
    }
  }
  const kill = async (signal: 'SIGKILL' | 'SIGINT') => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'close')
    all('SIGCONT')
    if (signal === 'SIGKILL') all('SIGKILL')
    else child.kill(signal)
    await ended
  }
  await start()
  return {
    port,
    url,
    start,
    kill,
    freeze: () => all('SIGSTOP'),
    thaw: () => all('SIGCONT'),
    async remove() {
      await kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function debianFolders(): readonly string[] {
  try {
    return readdirSync(DEBIAN).map((version) => join(DEBIAN, version, 'bin'))
  } catch {
    return []
  }
}

/** Postgres and PgBouncer refuse to run as root. */
export function unprivilegedUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const idOf = (flag: string) => spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout?.trim()
  const [uid, gid] = [idOf('-u'), idOf('-g')]
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : { uid: 65_534, gid: 65_534 }
}

function childrenOf(pid: number | undefined): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(/\s+/).filter(Boolean).map(Number)
  } catch {
    return []
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has already ended.
  }
}

export async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('SELECT 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}
