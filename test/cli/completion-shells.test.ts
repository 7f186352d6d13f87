import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { runCli } from './run-cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'postern-completion-'))
const script = join(folder, 'postern.bash')
beforeEach(async () => writeFileSync(script, (await runCli(['completion', 'bash'])).stdout))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Returns the completions of a real bash for the last of these words. */
function complete(...words: readonly string[]): readonly string[] {
  const line = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _postern; printf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['-c', line, script, 'postern', ...words], { encoding: 'utf8' })
    .split('\n')
    .slice(0, -1)
}

describe('postern completion bash, in bash', () => {
  it.each([
    [['del'], ['deliveries']],
    [['webhooks', ''], expect.arrayContaining(['list', 'ensure', 'rotate', '--help'])],
    [
      ['trigger', 'contact.'],
      ['contact.created', 'contact.updated', 'contact.deleted'],
    ],
    [['dev', '--forward', 'http://localhost/', '--retry'], ['--retry-scale']],
    [['dev', '--clock', ''], ['manual']],
    [
      ['inbox', 'list', '--state', ''],
      ['dead', 'waiting', 'running'],
    ],
  ])('%j is completed', (words, offered) => {
    expect(complete(...words)).toEqual(offered)
  })

  it('leaves the values of other options to the names of files', () => {
    expect(complete('sign', '--secret-file', '')).toEqual([''])
    expect(execFileSync('bash', ['-c', `source "${script}"; complete -p postern`], { encoding: 'utf8' })).toBe(
      'complete -o default -F _postern postern\n',
    )
  })

  it('offers only options if the argument can be anything', () => {
    const offered = complete('webhooks', 'get', '')
    expect(offered).toContain('--json')
    expect(offered.filter((word) => !word.startsWith('--'))).toEqual([])
  })

  it('hides the same commands as the help', () => {
    expect(complete('sign', '--env')).toEqual(['--env'])
  })
})

describe.skipIf(spawnSync('zsh', ['-c', '']).error)('a zsh that loads the script', () => {
  const compinit = 'autoload -Uz compinit; compinit -i'
  it.each([
    ['after its completion was turned on', [compinit, 'SCRIPT']],
    ['before', ['SCRIPT', compinit]],
    ['and never turns its completion on', ['SCRIPT']],
  ])('completes the command: %s', async (_when, lines) => {
    const file = join(folder, 'load.zsh')
    writeFileSync(file, (await runCli(['completion', 'zsh'])).stdout)
    const atPrompt = 'for each in $precmd_functions; do $each; done; print $_comps[postern] $#precmd_functions'
    const text = [...lines, atPrompt].join('; ').replace('SCRIPT', `source ${file}`)
    const env = { ...process.env, HOME: folder, ZDOTDIR: folder }
    const { stdout, stderr } = spawnSync('zsh', ['-f', '-c', text], { encoding: 'utf8', env })
    expect([stdout, stderr]).toEqual(['_postern 0\n', ''])
  })
})

/** Returns the choices that zsh gets: its own functions for that work only while a line is edited. */
const IN_ZSH = `
compdef() { : }
_files() { print FILES }
compadd() { shift; local all=(\${(M)@:#\${words[CURRENT]}*}); print -l -- $all; (( $#all )) }
source "$0"
words=("$@") CURRENT=$# ; _postern`

describe.each([
  ['zsh', (file: string, words: readonly string[]) => ['-f', '-c', IN_ZSH, file, ...words]],
  [
    'fish',
    (file: string, words: readonly string[]) => [
      '--no-config',
      '-c',
      `source ${file}; complete -C '${words.join(' ')}'`,
    ],
  ],
] as const)('postern completion %s, in that shell, if it is installed', (shell, toArgs) => {
  it.each([
    [['webhooks', 'cr'], ['create']],
    [
      ['trigger', 'contact.'],
      ['contact.created', 'contact.deleted', 'contact.updated'],
    ],
    [['dev', '--clock', ''], ['manual']],
    [['replay', '--dry'], ['--dry-run']],
    [['completion', 'z'], ['zsh']],
    [
      ['deliveries', ''],
      ['list', 'resend'],
    ],
  ])('%j is completed', async (words, offered) => {
    const file = join(folder, `script.${shell}`)
    writeFileSync(file, (await runCli(['completion', shell])).stdout)
    const run = spawnSync(shell, toArgs(file, ['postern', ...words]), { encoding: 'utf8' })
    if (run.error !== undefined) return void console.log(`${shell} is not installed: its completion is not tried`)
    const lines = run.stdout.split('\n').map((line) => line.split('\t')[0] ?? '')
    expect(lines.filter((line) => line !== '' && line !== '--help').toSorted(), run.stderr).toEqual(offered)
  })
})
