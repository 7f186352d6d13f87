import { describe, expect, it } from 'vitest'
import { Editor } from './editor.ts'

const HEAD = [
  "import { createReceiver, record, type EventOf } from 'postern'",
  "import { contact } from 'postern/models'",
  'interface Opportunity { readonly _id: string; readonly title: string }',
  'interface InvoicePaid { readonly total: number }',
  'const models = { contact, opportunity: record<Opportunity>(), financeInvoice: record<{ readonly _id: string }>() }',
  "const receiver = createReceiver({ secret: 's', models, events: { 'invoice.paid': record<InvoicePaid>() } })",
  "const open = createReceiver({ secret: 's' })",
]
const actionsOf = (model: string) => [`"${model}.created"`, `"${model}.updated"`, `"${model}.deleted"`, `"${model}.*"`]

/** A slip, its line, and the patterns that its message names and does not name. */
type Wrong = readonly [slip: string, line: string, named: readonly string[], unnamed: readonly string[]]

const OPTIONS = 'ReceiverOptions<OpenModels, NoEvents, Store>'
const OPTIONS_OF_PLAIN = 'ReceiverOptions<{ plain: StandardSchema<Plain, Plain>; }, NoEvents, Store>'
const unknownOption = (name: string, type: string, meant: string) =>
  `Object literal may only specify known properties, but '${name}' does not exist in type '${type}'. Did you mean to write '${meant}'?`

const wrongPatterns: readonly Wrong[] = [
  ['a misspelt action', "receiver.on('contact.creatd', () => {})", actionsOf('contact'), ['opportunity']],
  ['a model without an action', "receiver.on('contact', () => {})", actionsOf('contact'), ['opportunity']],
  [
    'a misspelt action of every model',
    "receiver.on('*.delete', () => {})",
    ['"*.deleted"', '"*.created"'],
    ['contact'],
  ],
  ['a misspelt event', "receiver.on('invoice.payed', () => {})", ['<"invoice.paid">'], []],
  [
    'an event that begins like none',
    "receiver.on('shop.closed', () => {})",
    ['ServiceEventType', '"invoice.paid"'],
    ['contact'],
  ],
  [
    'a misspelt event, without declared models',
    "open.on('sync.done', () => {})",
    ['"sync.completed"', '"sync.failed"'],
    [],
  ],
]

/** A slip, and the whole first line of its only message. */
const SLIPS: readonly (readonly [string, string])[] = [
  ["createReceiver({ secrets: ['s'] })", unknownOption('secrets', OPTIONS, 'secret')],
  [
    "createReceiver({ secrets: 's', models: plain }).on('plain.created', (event) => event.data.record.title)",
    unknownOption('secrets', OPTIONS_OF_PLAIN, 'secret'),
  ],
  ["createReceiver({ secret: 's', stor: memoryStore() })", unknownOption('stor', OPTIONS, 'store')],
  ["createReceiver('s')", `Argument of type 'string' is not assignable to parameter of type '${OPTIONS}'.`],
  [
    "createReceiver({ secret: 's', store: memoryStore })",
    "Type '(options?: MemoryStoreOptions) => MemoryStore' is not assignable to type 'Store'.",
  ],
  ["createReceiver({ secret: 's', models: [contact] })", "' is not assignable to type 'ModelSchemas'."],
  [
    "createReceiver({ secret: 's', models: { contact: { email: 'string' } } })",
    "Object literal may only specify known properties, and 'email' does not exist in type 'StandardSchema<unknown, unknown>'.",
  ],
  ["receiver.on('contact.created', { names: 'x' }, () => {})", unknownOption('names', 'HandlerOptions', 'name')],
  ["receiver.on('contact.created', welcom)", "Cannot find name 'welcom'."],
  [
    "expressHandler({ secret: 's' })",
    "Object literal may only specify known properties, and 'secret' does not exist in type 'Receives'.",
  ],
]

const MISSPELT_MODEL =
  "receiver.on('contcat.created', { name: 'x' }, async (event) => { event.data.record._id.trim() })"
const MISSPELT_FIELD = "receiver.on('contact.created', (event) => event.data.record.emial)"
const OTHER_HANDLER = "receiver.on('contact.created', (event: EventOf<typeof models, 'opportunity.created'>) => event)"

describe('the message', () => {
  const editor = new Editor([
    ...HEAD,
    ...wrongPatterns.map(([, line]) => line),
    MISSPELT_MODEL,
    MISSPELT_FIELD,
    OTHER_HANDLER,
    "import { memoryStore } from 'postern'",
    "import { expressHandler } from 'postern/express'",
    'interface Plain { readonly _id: string; readonly title: string }',
    'const plain = { plain: record<Plain>() }',
    ...SLIPS.map(([line]) => line),
  ])
  const errors = editor.errors()

  /** Returns the first line of the only message, which is all that most editors show. */
  function messageFor(line: string): string {
    expect(errors.get(line)).toHaveLength(1)
    return errors.get(line)?.[0]?.split('\n')[0] ?? ''
  }

  it('for a misspelt model quotes the pattern and names the legal ones, once, and still knows the event', () => {
    expect(messageFor(MISSPELT_MODEL)).toBe(
      `Argument of type '"contcat.created"' is not assignable to parameter of type '"contcat.created" & NoSuchPattern<"*.created" | "contact.created" | "opportunity.created" | "financeInvoice.created">'.`,
    )
  })

  it.each(wrongPatterns)('names similar patterns to %s', (_slip, line, named, unnamed) => {
    const message = messageFor(line)
    expect(message).toMatch(
      /^Argument of type '(".*")' is not assignable to parameter of type '\1 & NoSuchPattern<.*>'\.$/,
    )
    for (const name of named) expect(message).toContain(name)
    for (const name of unnamed) expect(message).not.toContain(name)
  })

  it.each(SLIPS)('is one line that names what is wrong in %s', (line, message) => {
    expect(messageFor(line)).toContain(message)
  })

  it('names the field that was probably meant', () => {
    expect(messageFor(MISSPELT_FIELD)).toBe("Property 'emial' does not exist on type 'Contact'. Did you mean 'email'?")
  })

  it('names the event that a handler for another event should be for', () => {
    expect(errors.get(OTHER_HANDLER)?.join('\n')).toContain('ModelEvent<"contact", "created", Contact>')
  })
})

describe('an editor', () => {
  const hovers = [
    ['contact.created', 'ModelEvent<"contact", "created", Contact>'],
    ['opportunity.updated', 'ModelEvent<"opportunity", "updated", Opportunity>'],
    ['contact.deleted', 'ModelEvent<"contact", "deleted", DeletedRecord>'],
    [
      'contact.*',
      'ModelEvent<"contact", "created", Contact> | ModelEvent<"contact", "updated", Contact> | ModelEvent<"contact", "deleted", DeletedRecord>',
    ],
    ['*.deleted', 'ModelEvent<string, "deleted", DeletedRecord>'],
    ['*.created', 'ModelEvent<string, "created", unknown>'],
    ['*', 'AnyEvent<unknown>'],
    ['invoice.paid', 'WebhookEvent<"invoice.paid", InvoicePaid>'],
    ['finance.payment.failed', 'WebhookEvent<"finance.payment.failed", OpenData>'],
  ] as const
  const editor = new Editor([
    ...HEAD,
    ...hovers.map(([pattern], index) => `receiver.on('${pattern}', (event${index}) => event${index}.id)`),
    "export function welcome(outside: EventOf<typeof models, 'contact.created'>) { return outside.id }",
    "receiver.on('contact.created', ({ data: { record } }, context) => [record, context])",
    "receiver.on('contact.updated', ({ data }) => { data.record. })",
    "const completed = receiver; completed.on('')",
  ])

  it.each(hovers.map((hover, index) => [...hover, index] as const))(
    'shows the event of %s by plain names: %s',
    (_pattern, type, index) => {
      const [name, shown] = editor.hover(`event${index})`).split(': ')
      expect(name).toBe(`(parameter) event${index}`)
      // The compiler orders a union in the order in which it meets its members.
      expect(shown?.split(' | ').sort()).toEqual(type.split(' | ').sort())
    },
  )

  it('shows the same for a handler in another file', () => {
    expect(editor.hover('outside:')).toBe('(parameter) outside: ModelEvent<"contact", "created", Contact>')
  })

  it('shows record and context by name', () => {
    expect(editor.hover('record }')).toBe('(parameter) record: Contact')
    expect(editor.hover('context)')).toBe('(parameter) context: HandlerContext')
  })

  it('offers every pattern', () => {
    const some = [
      '*',
      '*.deleted',
      'contact.created',
      'contact.*',
      'financeInvoice.updated',
      'finance.payment.failed',
      'invoice.paid',
    ]
    expect(editor.completions("completed.on('")).toEqual(expect.arrayContaining(some))
  })

  it('offers the fields of a record', () => {
    const fields = ['_id', 'email', 'firstName', 'lastName', 'status']
    expect(editor.completions('{ data.record.').toSorted()).toEqual(fields)
  })
})

describe('the cost of the types', () => {
  /** Models that exist in types only, each with one handler that reads a field of the model. */
  function withModels(count: number): Editor {
    const range = Array.from({ length: count }, (_, index) => index)
    return new Editor([
      "import { createReceiver, record } from 'postern'",
      ...range.map((index) => `interface M${index} { readonly _id: string; readonly f${index}: number }`),
      `createReceiver({ secret: 's', models: { ${range.map((index) => `m${index}: record<M${index}>()`).join(', ')} } })`,
      ...range.map((index) => `  .on('m${index}.created', (event) => event.data.record.f${index})`),
    ])
  }

  it('grows by at most 100 instantiations a model, and is little more with the shared types', () => {
    const [some, many] = [withModels(30), withModels(300)]
    expect(many.errors()).toEqual(new Map())
    expect(many.instantiations()).toBeLessThanOrEqual(30_100)
    expect((many.instantiations() - some.instantiations()) / 270).toBeLessThanOrEqual(100)
  })
})
