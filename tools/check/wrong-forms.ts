import { sign } from '../../src/protocol/signature.ts'
import { SIGNATURE_NAME } from '../../src/protocol/signature-name.ts'
import { SIGNATURE_MISTAKES, type SignatureMistakeCode } from '../wire/signature-mistakes.ts'
import type { Maker, TestDelivery } from './case.ts'

/** Mistake in a receiver, with deliveries that only a receiver with this mistake accepts. */
interface WrongForm {
  readonly code: WrongFormCode
  readonly text: string
  readonly deliver: (make: Maker) => readonly TestDelivery[]
}

/** Code of a mistake that makes a receiver refuse plain deliveries. */
export type WrongFormCode = SignatureMistakeCode | 'other_header' | 'header_case' | 'normalized' | 'decoded'

/** Checks of other groups that fail because of a mistake as well. */
export const FAIL_AS_WELL: Readonly<Partial<Record<WrongFormCode, readonly string[]>>> = {
  no_prefix: ['signature-no-prefix'],
  other_algorithm: ['signature-sha1'],
  secret_missing: ['signature-no-secret', 'signature-unknown-account'],
  reserialised: ['signature-reserialised'],
}

/** Secret of the examples in the documentation. */
const TEST_SECRET = 'test-secret'
const OF_EXAMPLES: WrongForm = {
  code: 'secret_missing',
  text: `The receiver accepts signatures of "${TEST_SECRET}"; the secret given to the checker is another one. Pass the secret of the receiver.`,
  deliver: (make) => {
    const { body } = make.delivery(make.event())
    return [make.delivery(body, { signature: () => sign(body, TEST_SECRET) })]
  },
}

/** Header names that installations of the service and other services use, and that people are likely to choose. */
const OTHER_HEADERS = [
  ...[
    SIGNATURE_NAME,
    'X-Crm-Signature',
    'X-Hub-Signature-256',
    'X-Hub-Signature',
    'X-Signature',
    'X-Signature-256',
    'X-Signature-Sha256',
  ],
  ...['X-Webhook-Signature', 'Webhook-Signature', 'Signature', 'Service-Signature', 'X-Hmac-Sha256'],
]

/**
 * Lists mistakes that make a receiver refuse plain deliveries; the first match is reported.
 *
 * @param header the name of the signature header that the receiver should read
 */
export function listWrongForms(secret: Buffer, header: string): readonly WrongForm[] {
  const lower = header.toLowerCase()
  const others = OTHER_HEADERS.filter((name) => name.toLowerCase() !== lower)
  const computed = Object.entries(SIGNATURE_MISTAKES).map(
    ([code, { fact, fix, sign }]): WrongForm => ({
      code: code as SignatureMistakeCode, // it comes from there
      text: `${fact} ${fix}`,
      // Each variant has its own event.
      deliver: (make) =>
        sign(make.delivery(make.event()).body, secret).map((_, at) => {
          const { body } = make.delivery(make.event())
          return make.delivery(body, { signature: () => sign(body, secret)[at] })
        }),
    }),
  )
  return [
    {
      code: 'other_header',
      text: `The receiver reads the signature from another header, such as that of another service. Read ${header}; if your service calls it otherwise, pass that name as signature header.`,
      deliver: (make) =>
        others.flatMap((signatureName) =>
          ['sha256=', ''].map((prefix) =>
            make.delivery(make.event(), { signatureName, signature: (right) => right.replace('sha256=', prefix) }),
          ),
        ),
    },
    {
      code: 'header_case',
      text: `The receiver looks only for ${lower} in lower case, but the service writes ${header}. Look the header up without regard to case.`,
      deliver: (make) => [make.delivery(make.event(), { signatureName: lower })],
    },
    OF_EXAMPLES,
    ...computed,
    {
      code: 'normalized',
      text: 'The receiver normalizes text (Unicode NFD or NFKD) before it computes the digest. Sign the raw bytes.',
      deliver: (make) => {
        const { body } = make.delivery(make.event())
        return [
          make.delivery(body, { signature: () => sign(Buffer.from(`${Buffer.from(body)}`.normalize('NFD')), secret) }),
        ]
      },
    },
    {
      code: 'decoded',
      text: 'Bodies of ASCII characters pass, but others do not: the body is decoded with another charset than UTF-8 before it is signed. Sign the raw bytes.',
      deliver: (make) => {
        const event = make.event()
        const record = { _id: make.contact()._id, firstName: 'Zoe' }
        // Indents by three, which no serializer does by default.
        return [make.delivery(JSON.stringify({ ...event, data: { record } }, null, 3))]
      },
    },
  ]
}
