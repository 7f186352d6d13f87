import type { Command } from 'commander'
import { sign } from '../../protocol/signature.ts'
import { addSecretOptions, readBody, readSecret, type SecretOptions } from '../input/secret.ts'
import { EXIT, type Finish, type Io } from '../io.ts'

interface SignOptions extends SecretOptions {
  readonly json?: true
}

/** `postern sign`: the value of the signature header for a body. */
export function addSign(program: Command, io: Io, finish: Finish): void {
  const command = program
    .command('sign')
    .description('Print the value of X-Service-Signature for a body.')
    .argument('[file]', 'the body; standard input without it')
  addSecretOptions(command)
    .option('--json', 'print one JSON object to standard output')
    .addHelpText('after', EXAMPLES)
    .action(async (file: string | undefined, options: SignOptions) => {
      const secret = await readSecret(options, io)
      const signature = sign(await readBody(file, options, io), secret)
      io.stdout.write(`${options.json ? JSON.stringify({ signature }) : signature}\n`)
      finish(EXIT.done)
    })
}

const EXAMPLES = `
Examples:
  $ postern sign body.json --secret-env WEBHOOK_SECRET
  $ printf %s '{"id":"evt_1"}' | postern sign --secret-file secret.txt`
