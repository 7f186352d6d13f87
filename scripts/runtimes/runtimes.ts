/** A runtime in the form of one npm package: its binary, without an install script. */
export interface Runtime {
  /** The name for `--only`. */
  readonly name: string
  readonly title: string
  readonly version: string
  readonly package: string
  /** The binary's path inside of the package. */
  readonly binary: string
  /** With `suite`, the whole test suite runs on it. */
  readonly test: { readonly kind: 'suite' } | FetchTest
}

/** With `fetch`, it serves the program in app/, and the Fetch cases are sent there. */
export interface FetchTest {
  readonly kind: 'fetch'
  /** The command that serves the program, from the folder that prepare.ts makes. */
  readonly args: readonly string[]
  /** The command that serves app/node.js, for a runtime with servers of node:http. An argument follows: the adapter. */
  readonly nodeArgs?: readonly string[]
}

/** Compatibility dates of workerd: the oldest that works, and one close to its version. */
export const COMPATIBILITY_DATES = ['2024-10-14', '2026-11-01'] as const

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
    test: { kind: 'fetch', args: ['run', 'app/bun.js'], nodeArgs: ['run', 'app/node.js'] },
  },
  {
    name: 'deno',
    title: 'Deno',
    version: '2.9.6',
    package: `@deno/linux-${isArm ? 'arm64' : 'x64'}-glibc`,
    binary: 'deno',
    test: {
      kind: 'fetch',
      args: [
        'run',
        '--no-prompt',
        '--no-remote',
        '--allow-net=127.0.0.1',
        '--allow-env=NODE_ENV,WEBHOOK_SECRET',
        'app/deno.js',
      ],
      nodeArgs: ['run', '--no-prompt', '--no-remote', '--allow-all', 'app/node.js'],
    },
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
    test: { kind: 'suite' },
  }
}

function workerd(date: string): Runtime {
  return {
    name: 'workerd',
    title: `workerd, ${date},`,
    version: '1.20261117.1',
    package: `@cloudflare/workerd-linux-${isArm ? 'arm64' : '64'}`,
    binary: 'bin/workerd',
    test: { kind: 'fetch', args: ['serve', `worker/${date}.capnp`, '--control-fd=3'] },
  }
}
