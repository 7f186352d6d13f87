import type { SqliteDriver } from '../../adapters/stores/sqlite.ts'

/** A runtime in the form of one npm package: its binary, without an install script. */
export interface Runtime {
  /** The name for `--only`. */
  readonly name: string
  readonly title: string
  readonly version: string
  readonly package: string
  /** The binary's path inside of the package. */
  readonly binary: string
  /** The command that serves Fetch handlers by the runtime's own server, from the folder that prepare.ts makes. */
  readonly serve?: readonly string[]
  /** The command that runs a program for Node's modules, whose path and arguments follow. */
  readonly run?: readonly string[]
  /** The drivers of SQLite on a runtime with `run`. */
  readonly drivers: readonly SqliteDriver[]
  /** If true, the whole test suite runs on it as well. */
  readonly hasTests: boolean
}

/** Compatibility dates of workerd: the oldest that works, and one close to its version. */
export const COMPATIBILITY_DATES = ['2024-10-14', '2026-11-01'] as const

const DENO = ['run', '--no-prompt', '--no-remote'] as const

const isArm = process.arch === 'arm64'

/** Every tested version; they are listed only here. */
export const RUNTIMES: readonly Runtime[] = [
  node('20.19.0'), // the oldest that package.json promises
  node('22.23.3'),
  node('24.21.0'),
  {
    name: 'bun',
    title: 'Bun',
    version: '1.4.5',
    package: `@oven/bun-linux-${isArm ? 'aarch64' : 'x64'}`,
    binary: 'bin/bun',
    serve: ['run', 'app/bun.js'],
    run: ['run'],
    drivers: ['node:sqlite', 'libsql'],
    hasTests: false,
  },
  {
    name: 'deno',
    title: 'Deno',
    version: '2.9.6',
    package: `@deno/linux-${isArm ? 'arm64' : 'x64'}-glibc`,
    binary: 'deno',
    serve: [...DENO, '--allow-net=127.0.0.1', '--allow-env=NODE_ENV,WEBHOOK_SECRET', 'app/deno.js'],
    run: [...DENO, '--allow-all'],
    drivers: ['node:sqlite', 'libsql'],
    hasTests: false,
  },
  ...COMPATIBILITY_DATES.map(workerd),
]

function node(version: string): Runtime {
  return {
    name: `node${version.split('.')[0]}`,
    title: 'Node',
    version,
    package: `node-linux-${isArm ? 'arm64' : 'x64'}`,
    binary: 'bin/node',
    run: [],
    drivers: version.startsWith('20.') ? ['libsql'] : ['node:sqlite', 'libsql'],
    hasTests: true,
  }
}

function workerd(date: string): Runtime {
  return {
    name: 'workerd',
    title: `workerd, ${date},`,
    version: '1.20261117.1',
    package: `@cloudflare/workerd-linux-${isArm ? 'arm64' : '64'}`,
    binary: 'bin/workerd',
    serve: ['serve', `worker/${date}.capnp`, '--control-fd=3'],
    drivers: [],
    hasTests: false,
  }
}
