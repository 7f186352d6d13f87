import { mkdir, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import * as z from 'zod'
import { SERVICE_EVENT_TYPES } from '../../../src/protocol/events.ts'
import { parseJson } from '../../../src/protocol/parse-json.ts'
import { createEvents } from '../../testing/events.ts'
import { signed } from '../../testing/signed.ts'
import { MODEL_KEY } from '../../wire/model-of.ts'
import { typesOf } from '../input/event-types.ts'
import { buildEvent } from '../input/make-events.ts'
import { readIfThere } from '../input/read-bytes.ts'
import { collectWords, signatureHeaderOption } from '../input/read-option.ts'
import { addSecretOptions, readSecret, type SecretOptions } from '../input/secret.ts'
import { ExitError, emit, type Io, refuseFile, tell, usageError } from '../io.ts'
import { addCommand } from './add-group.ts'

interface FixturesOptions extends SecretOptions {
  readonly out: string
  readonly model?: readonly string[]
  readonly account: string
  readonly signatureHeader: string
}

/** `postern fixtures`: an event of each type as files, signed, for tests in any language. */
export function addFixtures(program: Command, io: Io): void {
  const command = addCommand(
    program,
    'fixtures',
    'Write an event of each type into files: the exact bytes of the body, and the headers that fit them.',
    'Exit codes: 0 done, 2 usage, or files that cannot be written.',
    'postern fixtures --out fixtures --secret-env WEBHOOK_SECRET',
    'postern fixtures --out fixtures --model opportunity,financeInvoice --secret-file secret.txt --json',
  )
    .requiredOption('--out <folder>', 'where to; only files that this command wrote are replaced')
    .option('--model <name>', 'the three events of this model too; several times', collectModels)
    .option('--account <key>', 'the accountKey of the events', 'acme')
    .option('--json', 'print the index to standard output, as one JSON object')
  addSecretOptions(command)
    .addOption(signatureHeaderOption())
    .action(async (options: FixturesOptions) => {
      const { fixtures, files } = await makeFixtures(options, await readSecret(options, io))
      const { out } = options
      await writeFiles(out, { fixtures }, files)
      emit(io, { fixtures }, fixtures.map(({ body }) => join(out, body)).join('\n'))
      tell(io, `${fixtures.length} events; ${join(out, README)} says how to send them`)
    })
}

async function makeFixtures({ model = [], account, signatureHeader }: FixturesOptions, secret: string) {
  const types = [...new Set(['contact', ...model])].flatMap(typesOf).concat(SERVICE_EVENT_TYPES)
  const files = new Map<string, Uint8Array>()
  const fixtures = types.map((type) => {
    // A seed for each type, so that the files are the same in every run, whatever --model names.
    const event = buildEvent(createEvents({ seed: `postern:${type}` }), type, { accountKey: account })
    const { body: bytes, signature = '' } = signed(event, { secret })
    const fixture = { type, eventId: event.id, body: `${type}.json`, headers: `${type}.headers`, signature }
    files.set(fixture.body, bytes)
    files.set(fixture.headers, Buffer.from(`Content-Type: application/json\n${signatureHeader}: ${signature}\n`))
    return fixture
  })
  files.set(README, Buffer.from(toReadme(fixtures)))
  return { fixtures, files }
}

function toReadme(fixtures: readonly { readonly body: string; readonly headers: string }[]): string {
  const lines = fixtures.map(
    ({ body, headers }) => `    curl -i http://localhost:3000/webhooks -H @${headers} --data-binary @${body}`,
  )
  return `# Signed events

Written by \`postern fixtures\`, which replaces them when it is run again. Of each type there are two files: \`TYPE.json\` is the
body, \`TYPE.headers\` the two headers that the service sends with it. \`index.json\` lists them, with event ids and signatures.

A signature covers the exact bytes of its body. Read the bodies as bytes, and keep editors and formatters away from them: a line
break at the end is enough to have the delivery refused.

Sent again, an event is a duplicate: its id is the same. They happened in January 2025, so a receiver with a \`maxAge\` refuses them.

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

const TOOL = 'postern fixtures'
const INDEX = 'index.json'
const README = 'README.md'
const writtenIndex = z.looseObject({
  tool: z.literal(TOOL),
  fixtures: z.array(z.looseObject({ body: z.string(), headers: z.string() })).default([]),
})

/**
 * Writes files and their index into a folder, in place of those that the index of an earlier run names. Ends the command before it writes
 * anything if one of the files would replace another one.
 */
async function writeFiles(folder: string, index: object, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
    const before = await readNames(join(folder, INDEX))
    for (const name of files.keys())
      if (!before.includes(name) && (await readIfThere(join(folder, name))) !== undefined)
        throw refuseOther(join(folder, name))
    for (const name of before) await rm(join(folder, name), { force: true })
    const text = `${JSON.stringify({ tool: TOOL, ...index }, null, 2)}\n`
    // The index first: with it, a run that was killed can be repeated.
    for (const [name, bytes] of [[INDEX, Buffer.from(text)] as const, ...files])
      await writeFile(join(folder, name), bytes, { flag: 'wx' })
  } catch (error) {
    throw error instanceof ExitError ? error : refuseFile(folder, 'written', error)
  }
}

/** Returns the names of the files of an earlier run; none if there was none. */
async function readNames(path: string): Promise<readonly string[]> {
  const text = await readIfThere(path)
  if (text === undefined) return []
  const { data } = writtenIndex.safeParse(parseJson(text.toString()))
  if (data === undefined) throw refuseOther(path)
  const names = data.fixtures.flatMap(({ body, headers }) => [body, headers])
  // An index may have been edited to name files outside of the folder.
  return [INDEX, README, ...names.filter((name) => name === basename(name))]
}

function refuseOther(path: string): ExitError {
  return usageError(
    `${path} is not from this command, and is not overwritten. Name another folder, or move that file away.`,
  )
}
