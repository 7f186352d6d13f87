import type { Command } from 'commander'
import { SIGNATURE_HEADER } from '../../../src/protocol/head.ts'
import { sign } from '../../../src/protocol/signature.ts'
import { type RecordedDelivery, readDelivery } from '../input/read-delivery.ts'
import { signatureHeaderOption } from '../input/read-option.ts'
import { addSecretOptions, readBody, readSecret, type SecretOptions } from '../input/secret.ts'
import { ExitError, emit, type Io, tell, usageError } from '../io.ts'
import { explainMismatch } from '../output/explain-mismatch.ts'
import { addCommand } from './add-group.ts'

interface VerifyOptions extends SecretOptions {
  readonly header?: string
  readonly delivery?: string
  readonly signatureHeader: string
}

/** `postern sign`: the value of the signature header for a body. */
export function addSign(program: Command, io: Io): void {
  const command = addCommand(
    program,
    'sign',
    'Print the value of the signature header for a body.',
    'Exit codes: 0 done, 2 usage.',
    'postern sign body.json --secret-env WEBHOOK_SECRET',
    `printf %s '{"id":"evt_1"}' | postern sign --secret-file secret.txt`,
  ).argument('[file]', 'the body; standard input without it')
  addSecretOptions(command)
    .option('--json', 'print one JSON object to standard output')
    .action(async (file: string | undefined, options: SecretOptions) => {
      const secret = await readSecret(options, io)
      const body = await readBody(file, options, io)
      if (body.length === 0) tell(io, `${file ?? 'standard input'} is empty: this signs an empty body`)
      const signature = sign(body, secret)
      emit(io, { signature }, signature)
    })
}

/** `postern verify`: checks a signature, and explains a mismatch by the usual mistakes. */
export function addVerify(program: Command, io: Io): void {
  const command = addCommand(
    program,
    'verify',
    'Check the signature of a body, and explain a mismatch.',
    'Exit codes: 0 the signature is right, 1 it is not, 2 usage.',
    'postern verify body.json --header "sha256=..." --secret-env WEBHOOK_SECRET',
    'postern verify --delivery @line.json --secret-file secret.txt && echo ok',
  )
    .argument('[file]', 'the body as it came in; standard input without it')
    .option('--header <value>', 'the value of the signature header, with or without its name')
    .option('--delivery <json>', 'header and body as one JSON object, in place of both: @FILE, @- or the JSON itself')
  addSecretOptions(command)
    .addOption(signatureHeaderOption())
    .option('--json', 'print one JSON object to standard output')
    .action(async (file: string | undefined, options: VerifyOptions) => {
      const secret = await readSecret(options, io)
      const { body, header } = await readSubject(file, options, io)
      const findings = explainMismatch(body, header, secret)
      const isRight = findings.length === 0
      const reasons = ['the signature does not verify', ...findings.map(({ text }) => `  ${text}`)].join('\n')
      emit(io, { isRight, findings }, isRight ? 'the signature is right' : reasons, io.stderr)
      if (!isRight) throw new ExitError('failed')
    })
}

async function readSubject(
  file: string | undefined,
  { header, delivery, signatureHeader, ...secret }: VerifyOptions,
  io: Io,
): Promise<RecordedDelivery> {
  if (delivery !== undefined && header === undefined && file === undefined)
    return readDelivery(delivery, signatureHeader, secret, io)
  if (delivery !== undefined || header === undefined)
    throw usageError('Give --header and the body, or --delivery alone, which holds both.')
  // As it stands in the files of `postern fixtures`, and in logs.
  const [, name = '', separator, value] = /^\s*([^\s:=]+)\s*([:=])(.*)$/s.exec(header) ?? []
  const isNamed = name.toLowerCase() === signatureHeader.toLowerCase()
  const isOther = separator === ':' ? SIGNATURE_HEADER(name) === undefined : /^x-/i.test(name)
  if (!isNamed && isOther)
    throw usageError(
      `--header is the header ${name}, and the signature stands in ${signatureHeader}. If it stands in that one, add --signature-header ${name}.`,
    )
  return { body: await readBody(file, secret, io), header: isNamed ? (value ?? '') : header }
}
