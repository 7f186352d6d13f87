/**
 * `node scripts/release/try-package.mjs TARBALL [NODE…]`: installs the tarball in an empty folder and runs trial.mjs there on each Node, by
 * default on the one that runs this. It needs nothing of this repository but its folder.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const [tarball, ...nodes] = process.argv.slice(2)
if (tarball === undefined) throw new Error('usage: node scripts/release/try-package.mjs TARBALL [NODE…]')

const folder = mkdtempSync(join(tmpdir(), 'postern-trial-'))
const run = (command, ...args) => execFileSync(command, args, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
try {
  writeFileSync(join(folder, 'package.json'), '{ "name": "empty", "private": true }\n')
  copyFileSync(new URL('trial.mjs', import.meta.url), join(folder, 'trial.mjs'))
  const quiet = ['--silent', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
  run('npm', 'install', ...quiet, resolve(tarball))
  for (const node of nodes.length > 0 ? nodes : [process.execPath])
    run(node, '--disable-warning=ExperimentalWarning', 'trial.mjs')
} catch {
  process.exitCode = 1 // what failed has written why
} finally {
  rmSync(folder, { recursive: true, force: true })
}
