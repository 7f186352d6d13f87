import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Step } from './guide.ts'
import { linkPackage, run, unpack } from './package.ts'
import { findFreePort } from './programs.ts'
import { type CommandLine, startShell } from './shell.ts'

/** A folder with the package in it, and a reader who follows guides there. */
export interface Walk {
  readonly folder: string
  /** Files that were saved, by their path. */
  readonly files: ReadonlyMap<string, string>
  /** The output of the commands so far. */
  output(): string
  follow(steps: readonly Step[]): Promise<void>
  /** Ends what still runs, and removes the folder. */
  end(): Promise<void>
}

/** Addresses that the guides name, and what the tests have started in their place. */
export type Places = Readonly<Record<string, string>>

/** Makes an empty folder in which the tarball is installed, as `npm install` does it. */
export async function makeEmptyProject(tarball: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'postern-walk-'))
  await writeFile(join(folder, 'package.json'), '{ "dependencies": {} }\n')
  await unpack(folder, tarball)
  return folder
}

/** Makes an app of NestJS without modules, with its packages from the registry. */
export async function makeEmptyNestApp(tarball: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'postern-walk-'))
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2023',
    strict: true,
    skipLibCheck: true,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    types: ['node'],
    outDir: 'dist',
  }
  const scripts = { start: 'tsc && node dist/main.js' }
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module', scripts }))
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }))
  const nest = ['common', 'core', 'platform-express'].map((name) => `@nestjs/${name}@12`)
  const flags = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  await run(folder, 'npm', 'install', ...flags, tarball, ...nest, 'reflect-metadata@0.2', 'rxjs@7')
  for (const name of ['typescript', '@types/node', '@types/express']) await linkPackage(folder, name)
  return folder
}

/** Begins in a folder in which the package is installed. */
export async function beginWalk(folder: string, places: Places): Promise<Walk> {
  const [port, otherPort, emulatorPort] = [await findFreePort(), await findFreePort(), await findFreePort()]
  const files = new Map<string, string>()
  const typed: CommandLine[] = []
  const running = new Map<string, CommandLine>()
  const output = () => typed.map(({ stdout, stderr }) => stdout + stderr).join('')

  const meet = (text: string) => {
    const own = text
      .replaceAll(/\b3000\b/g, String(port))
      .replaceAll(/\b40(00|11)\b/g, String(otherPort))
      .replaceAll(/\b4010\b/g, String(emulatorPort))
      .replaceAll('npm run dev', `PORT=${port} npm run dev`)
      .replaceAll('npx postern dev', `npx postern dev --port ${emulatorPort}`)
      .replaceAll(/npx postern trigger(?!.* --to )/g, `$& --emulator http://127.0.0.1:${emulatorPort}`)
    return Object.entries(places).reduce((met, [told, real]) => met.replaceAll(told, real), own)
  }
  /** A program that is started anew was stopped before: the last word names its file. */
  const type = async (line: string) => {
    const program = line.split(/\s/).at(-1) ?? ''
    const former = running.get(program)
    former?.kill()
    await former?.exitCode
    const command = startShell(`set -e\n${line}`, folder, ENVIRONMENT)
    running.set(program, command)
    typed.push(command)
    return command
  }

  async function perform(step: Step): Promise<void> {
    if (step.does === 'save') {
      const path = join(folder, step.file)
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, meet(step.code))
      files.set(step.file, step.language)
      return
    }
    const lines = step.lines.map(meet)
    for (const name of lines.flatMap(listPackages)) await linkPackage(folder, name)
    const commands = lines.filter((line) => listPackages(line).length === 0)
    const scripts = step.terminals === 'one' ? [commands.join('\n')].filter((script) => script !== '') : commands
    for (const [index, script] of scripts.entries()) {
      const staysUp = step.terminals === 'server' || (step.terminals === 'terminals' && index < scripts.length - 1)
      const command = await type(script)
      if (index === 0 && step.awaited !== undefined)
        await command.until(new RegExp(step.awaited.replaceAll('.', '\\.')))
      else if (staysUp) await untilReady(script, command, [script.includes('board') ? otherPort : port])
      else if ((await command.exitCode) !== 0)
        throw new Error(`${step.title} failed in ${folder}:\n${script}\n${output()}`)
    }
  }

  return {
    folder,
    files,
    output,
    async follow(steps) {
      for (const step of steps) await perform(step)
    },
    async end() {
      for (const command of typed) command.kill()
      await Promise.all(typed.map(({ exitCode }) => exitCode))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Contains no registry, and neither a variable nor a program of this repository that could replace one that a guide forgot. */
const ENVIRONMENT = {
  PATH: (process.env.PATH ?? '')
    .split(delimiter)
    .filter((path) => !path.includes('node_modules'))
    .join(delimiter),
  NO_COLOR: '1',
  NODE_ENV: '',
  NODE_OPTIONS: '',
  NODE_PATH: '',
  npm_config_loglevel: 'error',
  npm_config_offline: 'true',
  npm_config_update_notifier: 'false',
}

/** The packages that `npm install` names, without their versions. */
function listPackages(line: string): readonly string[] {
  const [command = ''] = line.split(' #')
  const [, words = ''] = /^npm install (.*)$/.exec(command.trim()) ?? []
  const names = words.split(/\s+/).filter((word) => word !== '' && !word.startsWith('-'))
  return names.map((name) => name.replace(/(?<=.)@[\d.]+$/, ''))
}

/** A server is ready when it listens on one of the ports, any other program that runs on when it has printed something and is quiet. */
async function untilReady(line: string, command: CommandLine, ports: readonly number[]): Promise<void> {
  const isServer = /\b(server|board)\.\w+$|npm (?:run dev|start)$/.test(line)
  const ended = command.exitCode.then((code) => {
    throw new Error(`${line} ended with ${code}:\n${command.stdout}${command.stderr}`)
  })
  const ready = async () => {
    for (;;) {
      const before = command.stdout.length + command.stderr.length
      await sleep(200)
      const after = command.stdout.length + command.stderr.length
      const isUp = isServer ? (await Promise.all(ports.map(listens))).includes(true) : after > 0
      if (isUp && before === after) return
    }
  }
  await Promise.race([ready(), ended])
  ended.catch(() => {}) // it is killed later
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, 'localhost')
    socket
      .on('error', () => resolve(false))
      .on('connect', () => socket.destroy())
      .on('connect', () => resolve(true))
  })
}
