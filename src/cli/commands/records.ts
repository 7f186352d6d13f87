import type { Command } from 'commander'
import * as z from 'zod'
import { record } from '../../emulator/contract.ts'
import { createEvents } from '../../testing/events.ts'
import { mustBeMeant } from '../input/keys.ts'
import { readJsonOption } from '../input/make-events.ts'
import { collect } from '../input/read-option.ts'
import { setFields } from '../input/set-values.ts'
import { type Io, usageError, writeJson } from '../io.ts'
import { formatTable, toPrintable } from '../output/print-table.ts'
import { addEmulatorUrl, connectToEmulator, type EmulatorUrlOptions } from '../service/emulator-client.ts'
import { type AddCommand, addGroup } from './add-group.ts'

interface RecordsOptions extends EmulatorUrlOptions {
  readonly account?: string
}

interface FieldOptions extends RecordsOptions {
  readonly set?: readonly string[]
  readonly data?: string
}

type Fields = Readonly<Record<string, unknown>>

/** `postern records …`: the records of a running emulator. Each change is an event. */
export function addRecords(program: Command, io: Io): void {
  const addToGroup = addGroup(program, 'records', {
    description: 'Look at the records of a running emulator, and change them, which fires events.',
    notes: 'Exit codes: 0 done, 1 no such record, or answered no, 2 usage, 3 no emulator there, 130 interrupted.',
    examples: ['list contact', 'create contact --set email=zoe@example.test'],
  })
  const add: AddCommand = (...args) =>
    addEmulatorUrl(addToGroup(...args))
      .argument('<model>', 'contact, opportunity, or any other')
      .option('--account <key>', 'the account (default: acme)')
      .option('--json', 'JSON to standard output, one object a record')
  const show = (records: readonly Fields[], { json }: RecordsOptions) => {
    if (json) for (const each of records) writeJson(io, each)
    else io.stdout.write(formatRecords(records))
  }

  add('list', 'All records of a model.', 'list contact').action(async (model: string, options: RecordsOptions) => {
    const records = await callRecords('GET', [model], z.array(record), options, io)
    if (records.length === 0) io.stderr.write(`there is no ${toPrintable(model)}\n`)
    show(records, options)
  })
  addFields(
    add(
      'create',
      'Make a record. A contact has the usual fields unless --data is given.',
      'create contact --set email=zoe@example.test',
      'create opportunity --data \'{"title":"Roof","value":1200}\' --json',
    ),
  ).action(async (model: string, options: FieldOptions) => {
    const fields = await readFields(toSample(model), options, io)
    show([await callRecords('POST', [model], record, options, io, fields)], options)
  })
  addFields(
    add(
      'update',
      'Change fields of a record; the others stay.',
      'update contact 65f0c1 --set status=customer',
      'update contact 65f0c1 --data \'{"status":"customer"}\' --json',
    ),
  )
    .argument('<id>', 'of the record')
    .action(async (model: string, id: string, options: FieldOptions) => {
      if (options.set === undefined && options.data === undefined) throw usageError('Give --set, --data or both.')
      const before = await callRecords('GET', [model, id], record, options, io)
      const fields = await readFields(before, options, io)
      show([await callRecords('PUT', [model, id], record, options, io, fields)], options)
    })
  add('delete', 'Remove a record.', 'delete contact 65f0c1 --yes')
    .argument('<id>', 'of the record')
    .option('--yes', 'do not ask')
    .action(async (model: string, id: string, options: RecordsOptions) => {
      if (!options.yes) await mustBeMeant(`Record ${toPrintable(id)} would be deleted.`, io)
      await callRecords('DELETE', [model, id], z.undefined(), options, io)
      if (options.json) writeJson(io, { _id: id, isDeleted: true })
      else io.stderr.write(`${toPrintable(model)} ${toPrintable(id)} is deleted\n`)
    })
}

function addFields(command: Command): Command {
  return command
    .option('--set <name=value>', 'set one field: email=zoe@example.test; several times', collect)
    .option('--data <json>', 'all fields: JSON, @file, or - for standard input')
}

async function callRecords<Answer extends z.ZodType>(
  method: string,
  path: readonly string[],
  answer: Answer,
  { account, ...options }: RecordsOptions,
  io: Io,
  body?: object,
): Promise<z.output<Answer>> {
  const emulator = await connectToEmulator(options, io)
  const query = account === undefined ? '' : `?accountKey=${encodeURIComponent(account)}`
  const route = ['records', ...path.map(encodeURIComponent)].join('/')
  return emulator.call(`${method} ${route}${query}`, answer, body && { body })
}

/** @param usual fields with which names are compared, so that a misspelt one is refused */
async function readFields(usual: Fields, { set = [], data }: FieldOptions, io: Io): Promise<object> {
  const fields = data === undefined ? { ...usual } : { ...JSON.parse(await readJsonOption(data, io)) }
  setFields(fields, set)
  return fields
}

/** Returns a contact as the service has it, without its id. Of other models, no field is known. */
function toSample(model: string): Fields {
  if (model !== 'contact') return {}
  const { _id, ...fields } = createEvents().contact.created().data.record
  return fields
}

function formatRecords(records: readonly Fields[]): string {
  if (records.length === 0) return ''
  const names = [...new Set(records.flatMap(Object.keys))]
  const toText = (value: unknown) => (value === undefined || typeof value === 'string' ? value : JSON.stringify(value))
  const rows = records.map((record) => names.map((name) => toText(record[name])))
  return `${formatTable(names, rows)}\n`
}
