import type { Command } from 'commander'
import { type RecordedDelivery, readDelivery } from '../input/read-delivery.ts'
import { addSecretOptions, readBody, readSecret, type SecretOptions } from '../input/secret.ts'
import { EXIT, ExitError, type Finish, type Io } from '../io.ts'
import { explainMismatch } from '../output/explain-mismatch.ts'

interface VerifyOptions extends SecretOptions {
  readonly header?: string
  readonly delivery?: string
  readonly json?: true
}

/** `postern verify`: whether a body has this signature and, if not, what of the usual mistakes it is. */
export function addVerify(program: Command, io: Io, finish: Finish): void {
  const command = program
    .command('verify')
    .description('Check the signature of a body, and explain a mismatch.')
    .argument('[file]', 'the body as it came in; standard input without it')
    .option('--header <value>', 'the value of X-Service-Signature')
    .option('--delivery <json>', 'header and body as one JSON object, in place of both: @FILE, @- or the JSON itself')
  addSecretOptions(command)
    .option('--json', 'print one JSON object to standard output')
    .addHelpText('after', EXAMPLES)
    .action(async (file: string | undefined, options: VerifyOptions) => {
      const secret = await readSecret(options, io)
      const { body, header } = await readSubject(file, options, io)
      const findings = explainMismatch(body, header, secret)
      const isRight = findings.length === 0
      if (options.json) io.stdout.write(`${JSON.stringify({ isRight, findings })}\n`)
      else if (isRight) io.stderr.write('the signature is right\n')
      else io.stderr.write(`the signature does not verify\n${findings.map(({ text }) => `  ${text}\n`).join('')}`)
      finish(isRight ? EXIT.done : EXIT.failed)
    })
}

async function readSubject(
  file: string | undefined,
  { header, delivery, ...secret }: VerifyOptions,
  io: Io,
): Promise<RecordedDelivery> {
  if (delivery !== undefined && header === undefined && file === undefined) return readDelivery(delivery, secret, io)
  if (delivery !== undefined || header === undefined)
    throw new ExitError(EXIT.usage, 'Give --header and the body, or --delivery alone, which holds both.')
  return { body: await readBody(file, secret, io), header }
}

const EXAMPLES = `
Examples:
  $ postern verify body.json --header "sha256=..." --secret-env WEBHOOK_SECRET
  $ postern verify --delivery @line.json --secret-file secret.txt && echo ok`
