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
    [['d'], ['dev', 'deliveries']],
    [['webhooks', 're'], ['resume']],
    [['webhooks', ''], expect.arrayContaining(['list', 'ensure', 'rotate', '--help'])],
    [
      ['trigger', 'contact.'],
      ['contact.created', 'contact.updated', 'contact.deleted'],
    ],
    [['dev', '--forward', 'http://localhost/', '--retry'], ['--retry-scale']],
    [['dev', '--clock', ''], ['manual']],
    [
      ['faults', 'set', '--answer', '4'],
      ['401', '429'],
    ],
    [['completion', ''], expect.arrayContaining(['bash', 'zsh', 'fish'])],
    [['replay', '--dry'], ['--dry-run']],
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

describe.each(['bash', 'zsh', 'fish'])('postern completion %s', (shell) => {
  it('names every command and option of the help', async () => {
    const { code, stdout } = await runCli(['completion', shell])
    expect(code).toBe(0)
    for (const command of [
      '',
      'webhooks',
      'webhooks rotate',
      'trigger',
      'faults set',
      'records create',
      'inbox replay',
    ]) {
      const help = (await runCli([...command.split(' ').filter(Boolean), '--help'])).stdout
      for (const [, flag = ''] of help.matchAll(/^ {2}(?:-\w, )?--([\w-]+)/gm))
        expect(stdout).toContain(shell === 'fish' ? ` -l ${flag}` : `--${flag}`)
    }
  })

  it('is read by that shell, if it is installed', async () => {
    const file = join(folder, `read.${shell}`)
    writeFileSync(file, (await runCli(['completion', shell])).stdout)
    try {
      execFileSync(shell, ['-n', file], { stdio: ['ignore', 'ignore', 'pipe'] })
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
        return void console.log(`${shell} is not installed: its script is not read`)
      throw error
    }
  })
})

it('tells fish of each place its commands, values and options, with choices, with files or alone', async () => {
  const { stdout } = await runCli(['completion', 'fish'])
  const at = (place: string) => `complete -c postern -n "__postern_at '${place}'"`
  expect(stdout.split('\n')).toEqual(
    expect.arrayContaining([
      `${at('')} -f -a inbox -d 'Look at an app\\'s inbox, and replay or drop its dead letters.'`,
      `${at('completion')} -f -a 'bash zsh fish'`,
      expect.stringMatching(/ "__postern_at 'trigger'" -f -a 'contact\.created contact\.updated .*'$/),
      `${at('dev')} -l clock -x -a 'manual' -d 'manual: time stands still until it is moved'`,
      `${at('sign')} -l secret-file -r -F -d 'the file that holds it'`,
      `${at('dev')} -l ordered -d 'one attempt at a time'`,
    ]),
  )
  expect(stdout).toMatch(/^ {6}case ' dev' ' trigger' .* 'webhooks list' /m)
  const [, lines = ''] = stdout.split(/\nend\n(?=complete)/)
  expect(lines.match(/^(?!complete -c postern -n "__postern_at '[a-z- ]*'" -(f -a|l) .*).+$/gm)).toBeNull()
  expect(stdout).not.toContain("-f -a ''")
  expect(stdout).not.toContain('env-file')
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

it('tells zsh the choices of each option that takes a value, and of each place', async () => {
  const { stdout } = await runCli(['completion', 'zsh'])
  expect(stdout.split('\n')).toEqual(
    expect.arrayContaining([
      "    'dev --clock') compadd -- manual ;;",
      "    'sign --secret-file') _files ;;",
      "        'completion') compadd -- bash zsh fish --help || _files ;;",
      expect.stringMatching(/^ {8}'webhooks'\) compadd -- .*list get .* --help \|\| _files ;;$/),
    ]),
  )
  expect(stdout).toMatch(/^ {4}case "\$at \$word" in ' dev' \| ' trigger' \| /m)
  expect(stdout).not.toContain("'dev --ordered')")
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

it('supports three shells', async () => {
  expect(await runCli(['completion', 'tcsh'])).toMatchObject({ code: 2, stdout: '' })
  expect((await runCli(['completion'])).code).toBe(2)
})
