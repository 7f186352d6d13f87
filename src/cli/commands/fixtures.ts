import { join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { SERVICE_EVENT_TYPES } from '../../protocol/events.ts'
import { SIGNATURE_HEADER } from '../../protocol/signature.ts'
import { createEvents } from '../../testing/events.ts'
import { signed } from '../../testing/signed.ts'
import { MODEL_KEY, typesOf } from '../input/event-types.ts'
import { buildEvent } from '../input/make-events.ts'
import { collectWords } from '../input/read-option.ts'
import { addSecretOptions, readSecret, type SecretOptions } from '../input/secret.ts'
import { EXIT, type Finish, type Io } from '../io.ts'
import { writeOwnFiles } from '../output/write-own-files.ts'

interface FixturesOptions extends SecretOptions {
  readonly out: string
  readonly model?: readonly string[]
  readonly account: string
  readonly seed: string
  readonly json?: true
}

/** One event on disk, as the index tells it. */
interface Fixture {
  readonly type: string
  readonly eventId: string
  readonly body: string
  readonly headers: string
  readonly signature: string
}

/** `postern fixtures`: an event of each type as files, signed, for tests in any language. */
export function addFixtures(program: Command, io: Io, finish: Finish): void {
  const command = program
    .command('fixtures')
    .description('Write an event of each type into files: the exact bytes of the body, and the headers that fit them.')
    .requiredOption('--out <folder>', 'where to; only files that this command wrote are replaced')
    .option('--model <name>', 'the three events of this model too; several times', collectModels)
    .option('--account <key>', 'the accountKey of the events', 'acme')
    .option('--seed <text>', 'the same seed gives the same files; another one gives events with other ids', 'postern')
    .option('--json', 'print the index to standard output, as one JSON object')
  addSecretOptions(command)
    .addHelpText('after', EXAMPLES)
    .action(async (options: FixturesOptions) => {
      const { fixtures, files } = await makeFixtures(options, await readSecret(options, io))
      const { out, seed } = options
      await writeOwnFiles(out, { tool: 'postern fixtures', index: { seed, fixtures }, files })
      if (options.json) io.stdout.write(`${JSON.stringify({ seed, fixtures })}\n`)
      else for (const { body } of fixtures) io.stdout.write(`${join(out, body)}\n`)
      io.stderr.write(`${fixtures.length} events; ${join(out, 'README.md')} says how to send them\n`)
      finish(EXIT.done)
    })
}

async function makeFixtures({ model = [], account, seed }: FixturesOptions, secret: string) {
  const types = [...new Set(['contact', ...model])].flatMap(typesOf).concat(SERVICE_EVENT_TYPES)
  const files = new Map<string, Uint8Array>()
  const fixtures = types.map((type): Fixture => {
    // A seed for each type: more models don't change the others' files.
    const event = buildEvent(createEvents({ seed: `${seed}:${type}` }), type, { accountKey: account })
    const { body: bytes, headers, signature = '' } = signed(event, { secret })
    const fixture = { type, eventId: event.id, body: `${type}.json`, headers: `${type}.headers`, signature }
    const names: Readonly<Record<string, string>> = {
      'content-type': 'Content-Type',
      [SIGNATURE_HEADER]: 'X-Service-Signature',
    }
    const lines = Object.entries(headers).map(([name, value]) => `${names[name] ?? name}: ${value}\n`)
    files.set(fixture.body, bytes)
    files.set(fixture.headers, Buffer.from(lines.join('')))
    return fixture
  })
  files.set('README.md', Buffer.from(toReadme(fixtures)))
  return { fixtures, files }
}

function toReadme(fixtures: readonly Fixture[]): string {
  const lines = fixtures.map(
    ({ body, headers }) => `    curl -i http://localhost:3000/webhooks -H @${headers} --data-binary @${body}`,
  )
  return `# Signed events

Written by \`postern fixtures\`, which replaces them when it is run again. Of each type there are two files: \`TYPE.json\` is the
body, \`TYPE.headers\` the two headers that the service sends with it. \`index.json\` lists them, with event ids and signatures.

A signature covers the exact bytes of its body. Read the bodies as bytes, and keep editors and formatters away from them: a line
break at the end is enough to have the delivery refused.

Sent again, an event is a duplicate: its id is the same. Another \`--seed\` writes events with other ids. They happened in January
2025, so a receiver with a \`maxAge\` refuses them.

In this folder, with the receiver's URL:

${lines.join('\n')}
`
}

function collectModels(value: string, before: readonly string[] = []): readonly string[] {
  const names = collectWords(value)
  if (!names.every((name) => MODEL_KEY.test(name)))
    throw new InvalidArgumentError('A model is a letter, then letters, digits and _.')
  return [...before, ...names]
}

const EXAMPLES = `
Examples:
  $ postern fixtures --out fixtures --secret-env WEBHOOK_SECRET
  $ postern fixtures --out fixtures --model opportunity,financeInvoice --secret-file secret.txt --json`
