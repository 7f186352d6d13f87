/**
 * Installs better-sqlite3 into its own cache folder, once for each ABI of Node, and prints the folder that NODE_PATH must name. Its install
 * script compiles it, and is not allowed to run anywhere else. It takes about a minute of one core.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** The last major version that runs on Node 20. */
const VERSION = '12.11.1'
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'postern-runtimes')
const home = join(cache, `better-sqlite3@${VERSION}+node-${process.versions.modules}-${process.arch}`)

if (!existsSync(home)) {
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(`${home}-`)
  try {
    writeFileSync(
      join(folder, 'package.json'),
      JSON.stringify({
        private: true,
        dependencies: { 'better-sqlite3': VERSION },
        allowScripts: { 'better-sqlite3': true },
      }),
    )
    // The installer's output goes to standard error: standard output contains only the folder.
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'], {
      cwd: folder,
      stdio: ['ignore', process.stderr, process.stderr],
    })
    const load = ['-e', "new (require('better-sqlite3'))(':memory:').close()"]
    execFileSync(process.execPath, load, { cwd: folder, stdio: ['ignore', process.stderr, process.stderr] })
    renameSync(folder, home) // all or nothing
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    if (!existsSync(home)) throw error
  }
}
console.log(join(home, 'node_modules'))
