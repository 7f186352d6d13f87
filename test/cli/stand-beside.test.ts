import { expect, it } from 'vitest'
import { useFolder } from './folder.ts'
import { ended, runCli } from './run-cli.ts'

const folder = useFolder()

it.each([
  ['trigger contact.created --concurrent 5', '--concurrent is for --count or --duplicate: add that'],
  ['trigger contact.created --shuffle', '--shuffle is for --count or --duplicate'],
  ['trigger contact.created --timeout 5s', '--timeout is for --watch'],
  ['trigger contact.created --secret-file secret.txt', '--secret-file is for --to'],
  ['trigger contact.created --yes', '--yes is for --to'],
  ['dev --forward http://localhost:9/ --show-secrets', '--show-secrets is for --json'],
  ['webhooks update w --url http://localhost:9/ --any-type', '--any-type is for --events'],
  ['webhooks rotate w --secret-file s --secret-env NEXT', '--secret-env is for --to-env'],
  ['inbox replay key --sqlite none.db --rate 5', '--rate is for --all'],
  ['sign body.json --secret-env NEXT --secret-file s', 'Give --secret-env or --secret-file, not both.'],
  ['webhooks list --password-env P --password-file f', 'Give --password-env or --password-file, not both.'],
  ['inbox drop key --sqlite none.db --dry-run', '--dry-run is for --all'],
])('postern %s ends, since that option would be ignored', async (line, told) => {
  expect(await runCli(line)).toEqual(ended(2, told))
})

it('postern trigger reads the address of the emulator from its env file', async () => {
  await folder.write('.env', 'POSTERN_BASE_URL=http://127.0.0.1:9\n')
  const line = ['trigger', 'contact.created', '--env', folder.at('.env')]
  expect(await runCli(line)).toEqual(ended(3, 'No emulator answers at http://127.0.0.1:9'))
})
