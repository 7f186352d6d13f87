import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle } from '../../support/bundle.ts'
import { machineTime, readJournal } from './journal.ts'
import type { FromWorker, WorkerSettings } from './messages.ts'
import type { Life } from './verdict.ts'

interface Slot {
  child: ChildProcess
  /** Undefined until it listens, and again after its end. */
  port: number | undefined
  killedAt: number | undefined
  journalPath: string
}

const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url))

type PoolSettings = Omit<WorkerSettings, 'journalPath' | 'role'>

/** The role of each process, by its place. */
const ROLES: readonly WorkerSettings['role'][] = ['both', 'accept', 'work']

/** Worker processes behind one picker of ports; each is restarted when it is killed. */
export class WorkerPool {
  kills = 0
  diedByThemselves = 0
  peakResidentBytes = 0
  /** The last output of those that died by themselves. */
  readonly lastWords: string[] = []
  readonly #program: string
  readonly #folder: string
  readonly #settings: PoolSettings
  readonly #slots: Slot[] = []
  /** Every process so far, including the ended ones. */
  readonly #lives: Slot[] = []
  #turn = 0
  #isClosing = false

  private constructor(program: string, folder: string, settings: PoolSettings) {
    this.#program = program
    this.#folder = folder
    this.#settings = settings
  }

  static async start(count: number, folder: string, settings: PoolSettings): Promise<WorkerPool> {
    const pool = new WorkerPool(await bundle(WORKER), folder, settings)
    for (let at = 0; at < count; at++) pool.#startInto(at)
    await pool.#whenAllListen()
    return pool
  }

  /** Returns the port of the next listening worker, in turn. */
  pickPort(): number | undefined {
    for (let tries = 0; tries < this.#slots.length; tries++) {
      const port = this.#slots[++this.#turn % this.#slots.length]?.port
      if (port) return port
    }
    return undefined
  }

  /** Kills one of the listening workers; the next one takes its place. */
  async killOne(): Promise<void> {
    const alive = this.#slots.filter(({ port }) => port !== undefined)
    const victim = alive[Math.floor(Math.random() * alive.length)]
    if (victim === undefined) return
    victim.killedAt = machineTime()
    this.kills++
    const gone = once(victim.child, 'close')
    victim.child.kill('SIGKILL')
    await gone
  }

  /** Ends all regularly, and returns the output of every life. */
  async close(): Promise<readonly Life[]> {
    await this.#whenAllListen()
    this.#isClosing = true
    const gone = this.#slots.map(({ child }) => once(child, 'close'))
    for (const { child } of this.#slots) child.send('close')
    await Promise.all(gone)
    return this.#lives.map(({ journalPath, killedAt }) => ({ records: readJournal(journalPath), killedAt }))
  }

  #startInto(at: number): void {
    const journalPath = join(this.#folder, `journal-${this.#lives.length}`)
    const role = ROLES[at % ROLES.length] ?? 'both'
    const settings: WorkerSettings = { ...this.#settings, role, journalPath }
    const child = fork(this.#program, [JSON.stringify(settings)], {
      execArgv: ['--unhandled-rejections=strict'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    const slot: Slot = { child, port: undefined, killedAt: undefined, journalPath }
    this.#slots[at] = slot
    this.#lives.push(slot)
    let words = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      words = (words + text).slice(-2_000)
    })
    child.on('message', (message: FromWorker) => {
      if ('port' in message) slot.port = message.port
      else this.peakResidentBytes = Math.max(this.peakResidentBytes, message.residentBytes)
    })
    child.once('close', (code) => {
      slot.port = undefined
      if (slot.killedAt === undefined && (!this.#isClosing || code !== 0)) {
        this.diedByThemselves++
        this.lastWords.push(words.trim())
      }
      // A worker that dies by itself before it listens would do so again and again.
      if (!this.#isClosing && this.diedByThemselves < 10) this.#startInto(at)
    })
  }

  async #whenAllListen(): Promise<void> {
    while (this.#slots.some(({ port }) => port === undefined)) {
      if (this.diedByThemselves >= 10) throw new Error(`workers die by themselves: ${this.lastWords.at(-1)}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}
