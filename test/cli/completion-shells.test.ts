import { execFileSync, spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { useFolder } from './folder.ts'
import { runCli } from './run-cli.ts'

const folder = useFolder()

/** Writes the script of a shell. Returns its path. */
async function writeScript(shell: string): Promise<string> {
  await folder.write(`script.${shell}`, (await runCli(`completion ${shell}`)).stdout)
  return folder.at(`script.${shell}`)
}

const IN_BASH = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _postern; printf '%s\\n' "\${COMPREPLY[@]}"`
/** Prints the choices that zsh gets: its own functions for that work only while a line is edited. */
const IN_ZSH = `
compdef() { : }
_files() { print FILES }
compadd() { shift; local all=(\${(M)@:#\${words[CURRENT]}*}); print -l -- $all; (( $#all )) }
source "$0"
words=("$@") CURRENT=$# ; _postern`
/** Arguments of a shell that print the completions of the last word. */
const SHELLS = {
  bash: (file: string, words: readonly string[]) => ['--norc', '-c', IN_BASH, file, ...words],
  zsh: (file: string, words: readonly string[]) => ['-f', '-c', IN_ZSH, file, ...words],
  fish: (file: string, words: readonly string[]) => [
    '--no-config',
    '-c',
    `source ${file}; complete -C '${words.join(' ')}'`,
  ],
}

/** Returns the completions of a real shell for the last of these words; undefined if it is not installed. */
async function complete(shell: keyof typeof SHELLS, ...words: readonly string[]) {
  const args = SHELLS[shell](await writeScript(shell), ['postern', ...words])
  const { error, stdout, stderr } = spawnSync(shell, args, { encoding: 'utf8' })
  if (error !== undefined) return void console.log(`${shell} is not installed: its completion is not tried`)
  expect(stderr).toBe('')
  return stdout
    .split('\n')
    .map((line) => line.split('\t')[0] ?? '')
    .filter((line) => line !== '' && line !== '--help')
}

describe.each(['bash', 'zsh', 'fish'] as const)('postern completion %s, in that shell, if it is installed', (shell) => {
  it.each([
    ['webhooks cr', 'create'],
    ['trigger contact.', 'contact.created contact.deleted contact.updated'],
    ['dev --clock ', 'manual'],
    ['replay --dry', '--dry-run'],
    ['completion z', 'zsh'],
    ['check --explain late-ret', 'late-retry'],
    ['check --only lo', 'load'],
    ['deliveries l', 'list'],
    ['inbox list --state ', 'dead running waiting'],
    ['dev --forward http://localhost/ --retry', '--retry-scale'],
  ])('%j is completed', async (words, offered) => {
    const choices = await complete(shell, ...words.split(' '))
    if (choices !== undefined) expect(choices.toSorted().join(' ')).toBe(offered)
  })
})

it.each([
  ['bash', []],
  ['zsh', ['FILES']],
] as const)(
  'postern completion %s leaves the values of other options to the names of files',
  async (shell, offered) => {
    const choices = await complete(shell, 'sign', '--secret-file', '')
    if (choices !== undefined) expect(choices).toEqual(offered)
  },
)

describe('postern completion bash, in bash', () => {
  it('is the default of names of files', async () => {
    const script = `source "${await writeScript('bash')}"; complete -p postern`
    const told = execFileSync('bash', ['--norc', '-c', script])
    expect(String(told)).toBe('complete -o default -F _postern postern\n')
  })

  it('offers only options if the argument can be anything, and hides the same ones as the help', async () => {
    const offered = (await complete('bash', 'webhooks', 'get', '')) ?? []
    expect(offered).toContain('--json')
    expect(offered.filter((word) => !word.startsWith('--'))).toEqual([])
    expect(await complete('bash', 'sign', '--env')).toEqual(['--env'])
  })
})

describe.skipIf(spawnSync('zsh', ['-c', '']).error)('a zsh that loads the script', () => {
  const compinit = 'autoload -Uz compinit; compinit -i'
  it.each([
    ['after its completion was turned on', [compinit, 'SCRIPT']],
    ['before', ['SCRIPT', compinit]],
    ['and never turns its completion on', ['SCRIPT']],
  ])('completes the command: %s', async (_when, lines) => {
    const atPrompt = 'for each in $precmd_functions; do $each; done; print $_comps[postern] $#precmd_functions'
    const text = [...lines, atPrompt].join('; ').replace('SCRIPT', `source ${await writeScript('zsh')}`)
    const env = { ...process.env, HOME: folder.path, ZDOTDIR: folder.path }
    const { stdout, stderr } = spawnSync('zsh', ['-f', '-c', text], { encoding: 'utf8', env })
    expect([stdout, stderr]).toEqual(['_postern 0\n', ''])
  })
})
