import { createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { HandWritten, SECRET, signaturesOf } from './hand-written.ts'

// Receivers whose digest covers a part of the body, or another text.

/** Makes a receiver that also accepts the digest of what this makes of a body. */
const alsoDigesting = (toSigned: (body: Buffer) => Buffer) =>
  class extends HandWritten {
    override isGenuine(body: Buffer, request: IncomingMessage): boolean {
      const digest = createHmac('sha256', SECRET).update(toSigned(body)).digest('hex')
      return super.isGenuine(body, request) || signaturesOf(request).join() === `sha256=${digest}`
    }
  }

export const SignsFirst64KiB = alsoDigesting((body) => body.subarray(0, 65_536))
export const SignsFirst16KiB = alsoDigesting((body) => body.subarray(0, 16_384))

/** Its queue checks the signature of what fits into it. */
export class ChecksNoLargeBodies extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return body.length > 1_048_576 || super.isGenuine(body, request)
  }
}

/** Normalizes text before it looks at it. */
export class NormalizesText extends HandWritten {
  override async read(request: IncomingMessage): Promise<Buffer> {
    const body = await super.read(request)
    return Buffer.from(body.toString('utf8').normalize('NFC'))
  }
}
