import { describe, expect, it } from 'vitest'
import { runCli } from './run-cli.ts'

describe.each(['bash', 'zsh', 'fish'])('postern completion %s', (shell) => {
  it('names every command and option of the help', async () => {
    const { code, stdout } = await runCli(['completion', shell])
    expect(code).toBe(0)
    for (const command of ['', 'webhooks', 'webhooks rotate', 'trigger', 'faults set', 'inbox replay']) {
      const help = (await runCli([...command.split(' ').filter(Boolean), '--help'])).stdout
      for (const [, flag = ''] of help.matchAll(/^ {2}(?:-\w, )?--([\w-]+)/gm))
        expect(stdout).toContain(shell === 'fish' ? ` -l ${flag}` : `--${flag}`)
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

it('tells zsh the choices of each option that takes a value, and of each place', async () => {
  const { stdout } = await runCli(['completion', 'zsh'])
  expect(stdout.split('\n')).toEqual(
    expect.arrayContaining([
      "    'dev --clock') compadd -- manual ;;",
      "    'sign --secret-file') _files ;;",
      "        'completion') compadd -- bash zsh fish --help || _files ;;",
      expect.stringMatching(/^ {8}'webhooks'\) compadd -- .*list .*get .* --help \|\| _files ;;$/),
    ]),
  )
  expect(stdout).toMatch(/^ {4}case "\$at \$word" in ' dev' \| ' trigger' \| /m)
  expect(stdout).not.toContain("'dev --ordered')")
})

it('names the checks after the options that take one', async () => {
  const { stdout } = await runCli(['completion', 'fish'])
  for (const option of ['only', 'skip', 'explain'])
    expect(stdout).toMatch(
      new RegExp(
        `'check'" -l ${option} -x -a 'reach .*accepts-valid .*alive-after-all'`.replace(
          'reach ',
          option === 'explain' ? '' : 'reach ',
        ),
      ),
    )
  expect((await runCli(['completion', 'bash'])).stdout).toMatch(/^ {4}'check --only'\) words='.*late-retry/m)
})
