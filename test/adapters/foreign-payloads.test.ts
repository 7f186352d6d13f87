import examples from '@octokit/webhooks-examples'
import { sign } from '@octokit/webhooks-methods'
import { type OpenData, receiveFrom } from 'postern'
import { github } from 'postern/senders'
import { silentLogger } from 'postern/testing'
import { expect, it } from 'vitest'

const SECRET = 'whsec_foreign'

interface Webhook {
  readonly name: string
  readonly examples: readonly OpenData[]
}

/** Bodies that nobody here wrote. The types of the package say that a list is the default export, and Node that it is the module. */
const webhooks = examples as unknown as readonly Webhook[]
const sent = webhooks.flatMap(({ name, examples: all }) =>
  all.map((data) => ({ name, data, body: JSON.stringify(data) })),
)
const typeOf = ({ name, data: { action } }: (typeof sent)[number]) =>
  typeof action === 'string' ? `${name}.${action}` : name

it('each payload that GitHub publishes reaches the handler of its type as it is, and none with a byte changed', async () => {
  expect(sent).toHaveLength(329)
  const receiver = receiveFrom(github(), { secret: SECRET, logger: silentLogger })
  const handled: unknown[] = []
  for (const type of new Set(sent.map(typeOf)))
    receiver.on(type, (event) => void handled.push([event.type, event.data]))
  for (const [index, each] of sent.entries()) {
    const headers = {
      'x-hub-signature-256': await sign(SECRET, each.body),
      'x-github-event': each.name,
      'x-github-delivery': `delivery-${index}`,
    }
    const body = Buffer.from(each.body)
    const changed = Buffer.from(body)
    const at = (index * 7_919) % body.length
    changed[at] = (body[at] ?? 0) ^ 1
    expect(await receiver.receive({ body: changed, headers }), typeOf(each)).toMatchObject({ status: 401 })
    expect(await receiver.receive({ body, headers }), typeOf(each)).toMatchObject({ outcome: 'handled' })
  }
  expect(handled).toEqual(sent.map((each) => [typeOf(each), each.data]))
})
