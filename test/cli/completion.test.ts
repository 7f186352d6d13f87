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
