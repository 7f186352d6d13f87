import { createReceiver, type Receiver, record, type StandardSchema } from 'postern'
import { events } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { Bench, expectRefusal, type Line, linesInto, SECRET, watchRejections } from './support.ts'

watchRejections()

const models = { contact: record(), opportunity: record() }
const ignore = () => {}
/** Registration in the view of plain JavaScript: the types refuse most of these calls. */
type Loose = { on(pattern: unknown, ...rest: unknown[]): Loose } & Pick<Receiver, 'eventTypes'>
const loose = (receiver: unknown) => receiver as Loose

const fresh = (options = {}) => loose(createReceiver({ secret: SECRET, ...options }) as unknown)

/** Returns the names of the handlers that an event of the type reaches. */
async function reached(patterns: readonly string[], type: string, options: Record<string, unknown> = {}) {
  const bench = new Bench(options)
  const names: string[] = []
  for (const pattern of patterns)
    loose(bench.receiver).on(pattern, (_event: unknown, context: { handlerName: string }) =>
      names.push(context.handlerName),
    )
  const outcome = await bench.receiver.dispatch(events.raw(type, { record: { _id: 'r1' } }))
  await bench.expectAtRest()
  return { names, outcome: outcome.outcome, calls: bench.store.calls.length }
}

const ALL = ['contact.created', 'contact.*', '*.created', '*.deleted', '*', 'sync.completed', 'invoice.paid']

describe('patterns', () => {
  it('accept a declared model that is named like the beginning of an event type of the service', async () => {
    const options = { models: { export: record() } }
    expect(await reached(['export.*'], 'export.created', options)).toMatchObject({ names: ['export.*'] })
    expect(await reached(['export.created'], 'export.created', options)).toMatchObject({ names: ['export.created'] })
  })

  it.each([
    ['contact.created', ['contact.created', 'contact.*', '*.created', '*']],
    ['contact.deleted', ['contact.*', '*.deleted', '*']],
    ['opportunity.created', ['*.created', '*']],
    ['unheard-of.deleted', ['*.deleted', '*']],
    ['sync.completed', ['*', 'sync.completed']],
    ['invoice.paid', ['*', 'invoice.paid']],
    ['contact.merged', ['*']],
    ['contact.*', ['*']],
    ['__proto__.deleted', ['*.deleted', '*']],
  ])('of type %s runs %j', async (type, names) => {
    const options = { models, events: { 'invoice.paid': record() } }
    expect((await reached(ALL, type, options)).names).toEqual(names)
  })

  it.each(['contact.updated', 'constructor', '*'])(
    'ignore an event of type %s if no handler matches it, and write nothing to the store',
    async (type) => {
      const nothing = { names: [], outcome: 'ignored', calls: 0 }
      expect(await reached(['contact.created', 'sync.completed'], type)).toEqual(nothing)
    },
  )

  it.each([
    ['nothing', undefined, {}, "such as 'contact.created', not undefined"],
    ['a word', 'contact', {}, 'No event can match "contact"'],
    ['an unknown action', 'contact.merged', {}, "actions are 'created', 'updated', 'deleted'"],
    ['two stars', '*.*', {}, 'No event can match "*.*"'],
    [
      'an undeclared model',
      'contcat.created',
      { models },
      "declared are 'contact', 'opportunity'. If it is not: add it",
    ],
    ['the start of service types', 'finance.*', {}, "are 'finance.payment.completed', 'finance.payment.failed'"],
    ['an action behind it', 'sync.created', {}, "are 'sync.completed', 'sync.failed'"],
    ['a type without its beginning', 'payments.completed', {}, "Did you mean 'finance.payment.completed'?"],
    ['a model behind another word', 'crm.contact.created', {}, "Did you mean 'contact.created'?"],
    ['a blank edge', ' contact.created', {}, "Did you mean 'contact.created'?"],
    ['a character that nobody sees', 'contact\u200b.created', {}, "Did you mean 'contact.created'?"],
    ['an action in another case', 'deal.Created', {}, "Did you mean 'deal.created'?"],
    ['another separator', 'contact/created', {}, "Did you mean 'contact.created'?"],
    ['an action alone', 'created', {}, "Did you mean '*.created'?"],
    ['a word that may mean anything', 'error', {}, '"error". Events of GitHub'],
    ['words without a dot', 'paymentCompleted', {}, "Did you mean 'finance.payment.completed'?"],
    ['a topic of Shopify', 'orders/create', {}, 'come to receiveFrom(sender, { secret })'],
    ['a type of GitHub', 'issues.opened', {}, 'come to receiveFrom(sender, { secret })'],
    ['a type of Stripe', 'payment_intent.succeeded', {}, 'come to receiveFrom(sender, { secret })'],
    ['another form', 'FINANCE_PAYMENT_FAILED', {}, "Did you mean 'finance.payment.failed'?"],
    [
      'a declared type in another case',
      'Invoice.paid',
      { events: { 'invoice.paid': record() } },
      "mean 'invoice.paid'?",
    ],
    ['the start of service types in another case', 'Sync.*', {}, "are 'sync.completed', 'sync.failed'"],
    [
      'an undeclared event',
      'invoice.paid',
      { events: { 'invoice.sent': record() } },
      "option ('invoice.sent'; to declare",
    ],
    ['an empty list', [], {}, 'a pattern, or a list of patterns, such as'],
    ['a list with one that cannot match', ['contact.created', 'contact.craeted'], {}, 'match "contact.craeted"'],
    ['a list within a list', [['contact.created']], {}, 'a list of patterns, such as'],
  ])('refuse %s', (_what, pattern, options, fix) => {
    expectRefusal(() => fresh(options).on(pattern, ignore), 'pattern_invalid', fix)
  })

  it.each([
    ['contacts.created', 'contact'],
    ['contcat.*', 'contact'],
    ['contaact.created', 'contact'],
    ['invoice.created', 'financeInvoice'],
    ['invoices.*', 'financeInvoice'],
    ['opportunities.deleted', 'opportunity'],
    ['salesContact.created', 'contact'],
    ['payment.created', 'finance.payment.completed'],
    ['imports.created', 'import.completed'],
    ['contract.created', undefined],
    ['deal.created', undefined],
    ['payroll.created', undefined],
  ])('warn of %s if its model is not declared and resembles what the service names: %s', (pattern, meant) => {
    const lines: Line[] = []
    const [model = ''] = pattern.split('.')
    fresh({ logger: linesInto(lines) }).on(pattern, ignore)
    fresh({ logger: linesInto(lines), models: { [model]: record() } }).on(pattern, ignore)
    const told = `The pattern "${pattern}" names a model "${model}". Did you mean '${meant}'? If there is such a model, declare it: models: { ${model}: … }.`
    expect(lines.map(({ message }) => message)).toEqual(meant === undefined ? [] : [told])
  })

  it.each<[string, readonly string[], object, boolean]>([
    ['contract.created', ['contact.created'], {}, true],
    ['contract.*', ['contact.created', 'contact.created'], {}, true],
    ['payments.created', ['financePayment.created'], {}, false],
    ['payment.created', ['financePayment.created'], {}, true],
    ['contract.created', ['contract.created', 'contact.created'], {}, false],
    ['contract.*', ['contract.deleted', 'contact.created'], {}, false],
    ['contract.created', ['contact.created'], { models: { contract: record() } }, false],
    ['contract.created', ['contact.updated', 'company.created'], {}, false],
    ['contact.created', ['contact.created', 'contactGroup.created'], {}, false],
    ['contact.*', ['contract.created'], {}, false],
    ['finance_invoice.created', ['financeInvoice.created'], {}, true],
    ['contacts.created', ['contact.created'], { models: { contacts: record() } }, true],
    ['invoice.*', ['financeInvoice.created'], { models: { invoice: record() } }, true],
    ['finance_invoice.created', ['financeInvoice.created'], { models: { finance_invoice: record() } }, true],
    ['deal.created', ['contact.created'], { models: { deal: record() } }, false],
  ])('of %s are doubted after events of %s', async (pattern, types, options, isDoubted) => {
    const lines: Line[] = []
    const bench = new Bench({ ...options, logger: linesInto(lines) })
    loose(bench.receiver).on(pattern, ignore)
    lines.length = 0
    for (const type of types) await bench.send(events.raw(type, { record: { _id: 'a' } }))
    const doubts = lines.filter(({ message }) => message.includes(`Did you mean it by '${pattern}'?`))
    expect(doubts.length).toBe(isDoubted ? 1 : 0)
  })

  it.each<[string, object, string]>([
    ['a model with a blank', { models: { 'contact ': record() } }, 'without dot, star or blank'],
    ['a known model in another case', { models: { Contact: record() } }, 'spells the model "Contact" as contact'],
    ['a schema as the models', { models: record() }, 'models is a schema; give it with its key'],
    ['a model as a type', { events: { contact: record() } }, 'declare it as one, models: { contact: … }'],
    ['a type with a blank', { events: { ' invoice.paid': record() } }, 'it has a blank'],
    ['a misspelt action', { events: { 'contact.create': record() } }, 'Did you mean "contact.created"?'],
    ['a known type in another case', { events: { 'Sync.Completed': record() } }, 'Did you mean "sync.completed"?'],
  ])('a receiver refuses %s', (_what, options, fix) => {
    expectRefusal(() => fresh(options), 'option_invalid', fix)
  })

  it.each([
    ['no handler', [undefined], 'handler_invalid', "give a function: .on('contact.created', async (event) => { … })"],
    ['a class', [class Save {}], 'handler_invalid', 'is a class, which cannot be called'],
    ['a generator function', [function* () {}], 'handler_invalid', 'is a generator function, which does not run until'],
    ['options without a handler', [{ name: 'a' }], 'handler_invalid', 'is an object'],
    ['an unknown option', [{ title: 'a' }, ignore], 'option_unknown', 'no option "title". It takes name, order.'],
    ['a name with a blank', [{ name: 'a b' }, ignore], 'handler_invalid', 'without blanks'],
  ])('refuse %s', (_what, rest, code, fix) => {
    expectRefusal(() => fresh().on('contact.created', ...rest), code, fix)
  })
})

describe('a list of patterns', () => {
  it('runs its handler once for an event that several of them match', async () => {
    const list = ['contact.created', '*.created', 'sync.completed']
    const bench = new Bench()
    const seen: unknown[] = []
    loose(bench.receiver).on(list, ({ type }: { type: string }, { handlerName }: { handlerName: string }) =>
      seen.push([type, handlerName]),
    )
    for (const event of [events.contact.created(), events.syncCompleted(), events.contact.updated()])
      await bench.send(event)
    const name = '*.created,contact.created,sync.completed'
    expect(seen).toEqual([
      ['contact.created', name],
      ['sync.completed', name],
    ])
    expect(bench.outcomes.at(-1)).toMatchObject({ outcome: 'ignored' })
    expect(bench.receiver.eventTypes()).toEqual({
      types: ['contact.created', 'opportunity.created', 'financeInvoice.created', 'sync.completed'],
      open: true,
    })
  })

  it('has the same name in each order, so that an edit does not repeat finished handlers', () => {
    const receiver = fresh().on(['sync.completed', 'contact.created'], ignore)
    const again = () => receiver.on(['contact.created', 'sync.completed', 'sync.completed'], ignore)
    expectRefusal(again, 'handler_unnamed', ".on(['contact.created', 'sync.completed'], { name: '…' }, handler)")
    receiver.on(['contact.created', 'sync.completed'], { name: 'second' }, ignore).on('contact.created', ignore)
  })

  it('clashes with a handler of its name that one of them can meet', () => {
    const receiver = fresh().on(['contact.created', 'sync.failed'], { name: 'a' }, ignore)
    receiver.on(['contact.updated', 'sync.completed'], { name: 'a' }, ignore)
    const clash = () => receiver.on(['*.deleted', 'sync.failed'], { name: 'a' }, ignore)
    const both = "(patterns ['contact.created', 'sync.failed'] and ['*.deleted', 'sync.failed'])"
    expectRefusal(clash, 'handler_name_clash', both)
  })
})

describe('names of handlers', () => {
  it.each([
    ['a type and its model', 'clash', ['contact.created', 'a'], ['contact.*', 'a']],
    ['a type and its action', 'clash', ['contact.created', 'a'], ['*.created', 'a']],
    ['a name that is the other one’s pattern', 'clash', ['contact.*', 'contact.created'], ['contact.created']],
    ['a pattern that is the other one’s name', 'clash', ['contact.created'], ['*', 'contact.created']],
    ['two types', 'may be the same', ['contact.created', 'a'], ['contact.updated', 'a']],
    ['two models', 'may be the same', ['contact.*', 'a'], ['opportunity.*', 'a']],
    ['two actions', 'may be the same', ['*.created', 'a'], ['*.deleted', 'a']],
    ['a type and another model', 'may be the same', ['contact.created', 'a'], ['opportunity.*', 'a']],
  ] as const)('of %s %s', (_what, end, one, other) => {
    const receiver = fresh().on(one[0], { name: one[1] }, ignore)
    const add = () => receiver.on(other[0], { name: other[1] }, ignore)
    if (end !== 'clash') return void add()
    expectRefusal(add, 'handler_name_clash', 'can run for one event')
    expectRefusal(add, 'handler_name_clash', "{ name: '…' }")
  })

  it('are required for a second handler of one pattern: places and counts change with a deployment, and marks would not fit', () => {
    const receiver = fresh().on('contact.created', ignore).on('contact.created', { name: 'mail' }, ignore)
    const fix = "give this one a name, .on('contact.created', { name: '…' }, handler)."
    expectRefusal(() => receiver.on('contact.created', ignore), 'handler_unnamed', fix)
  })
})

const noting = (seen: unknown[]): StandardSchema => ({
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => {
      seen.push(value)
      return { value }
    },
  },
})

it.each([
  ['contact.created', 'record'],
  ['contact.updated', 'record'],
  ['contact.deleted', 'nothing'],
  ['opportunity.created', 'nothing'],
  ['invoice.paid', 'data'],
  ['sync.completed', 'nothing'],
])('models and events have their schemas applied: for %s it gets the %s', async (type, part) => {
  const [records, data]: [unknown[], unknown[]] = [[], []]
  const bench = new Bench({ models: { contact: noting(records) }, events: { 'invoice.paid': noting(data) } })
  bench.receiver.on('*', ignore)
  const event = events.raw(type, { record: { _id: '1' } })
  expect(await bench.receiver.dispatch(event)).toMatchObject({ status: 200 })
  expect(records).toEqual(part === 'record' ? [event.data.record] : [])
  expect(data).toEqual(part === 'data' ? [event.data] : [])
})

it.each([
  ['contacts.created', 'contact.created', 1],
  ['contact.created', 'contact.created', 0],
])(
  'a receiver that ignores its first ten events, with the pattern %s, warns of patterns that may be misspelt',
  async (pattern, type, count) => {
    const lines: Line[] = []
    const models = { contact: record(), contacts: record() }
    const receiver = createReceiver({ secret: SECRET, logger: linesInto(lines), models })
    loose(receiver).on(pattern, ignore)
    const ignored = pattern === type ? 'sync.failed' : type
    await receiver.dispatch(events.raw(type, { record: { _id: 'r1' } }))
    for (let n = 0; n < 20; n++) await receiver.dispatch(events.raw(ignored, { record: { _id: 'r1' } }))
    const warnings = lines.filter(({ message }) => message.includes('no handler takes "contact.created"'))
    expect(warnings).toHaveLength(count)
  },
)

it.each([
  ['nothing', [], {}, [], false],
  ['a type, once', ['contact.created', 'contact.created'], {}, ['contact.created'], false],
  ['a model', ['contact.*'], {}, ['contact.created', 'contact.updated', 'contact.deleted'], false],
  ['an action of declared models', ['*.deleted'], { models }, ['contact.deleted', 'opportunity.deleted'], true],
  [
    'an action without models',
    ['*.deleted'],
    {},
    ['contact.deleted', 'opportunity.deleted', 'financeInvoice.deleted'],
    true,
  ],
  ['further events', ['invoice.paid'], { events: { 'invoice.paid': record() } }, ['invoice.paid'], false],
  [
    'every event',
    ['*'],
    { models, events: { 'invoice.paid': record() } },
    [
      ...['contact', 'opportunity'].flatMap((model) => [`${model}.created`, `${model}.updated`, `${model}.deleted`]),
      ...['finance.payment.completed', 'finance.payment.failed', 'sync.completed', 'sync.failed'],
      ...['import.completed', 'export.completed', 'invoice.paid'],
    ],
    true,
  ],
])('eventTypes of %s', (_what, patterns, options, types, open) => {
  const receiver = fresh(options)
  for (const [index, pattern] of patterns.entries()) receiver.on(pattern, { name: `${index}` }, ignore)
  expect(receiver.eventTypes()).toEqual({ types, open })
})

it('interceptors wrap each run of each handler, the first one outermost', async () => {
  const bench = new Bench()
  const steps: string[] = []
  for (const name of ['outer', 'inner'])
    bench.receiver.intercept(async (run, event, { handlerName }, given) => {
      steps.push(`${name} before ${given} ${event.type} ${handlerName === given}`)
      await run()
      steps.push(`${name} after ${given}`)
    })
  bench.receiver.on('sync.completed', { name: 'a' }, () => void steps.push('a'))
  await bench.send(events.syncCompleted())
  expect(steps).toEqual([
    'outer before a sync.completed true',
    'inner before a sync.completed true',
    'a',
    'inner after a',
    'outer after a',
  ])
})
