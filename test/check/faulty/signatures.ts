import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type Answer, digestOf, HandWritten, SECRET } from './hand-written.ts'

const headerOf = ({ headers }: IncomingMessage) => String(headers['x-service-signature'] ?? '')

export class NoVerification extends HandWritten {
  override isGenuine(): boolean {
    return true
  }
}

export class Reserialising extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return super.isGenuine(Buffer.from(JSON.stringify(this.parse(body)) ?? ''), request)
  }
}

export class StringDecoding extends HandWritten {
  override async read(request: IncomingMessage): Promise<Buffer> {
    let text = ''
    for await (const part of request) text += part
    return Buffer.from(text)
  }
}

export class DecodingAtTheEnd extends HandWritten {
  override async read(request: IncomingMessage): Promise<Buffer> {
    return Buffer.from((await super.read(request)).toString())
  }
}

export class Trimming extends HandWritten {
  override async read(request: IncomingMessage): Promise<Buffer> {
    return Buffer.from((await super.read(request)).toString('latin1').trim(), 'latin1')
  }
}

export class UnequalLengthCompare extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return timingSafeEqual(Buffer.from(headerOf(request)), Buffer.from(`sha256=${digestOf(body)}`))
  }
}

export class PrefixCompare extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return (
      request.headers['x-service-signature'] !== undefined && `sha256=${digestOf(body)}`.startsWith(headerOf(request))
    )
  }
}

export class NoPrefixNeeded extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return headerOf(request).replace('sha256=', '').toLowerCase() === digestOf(body)
  }
}

export class TakesSha1 extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    const digest = createHmac('sha1', SECRET).update(body).digest('hex')
    return headerOf(request) === `sha1=${digest}` || super.isGenuine(body, request)
  }
}

export class CaseSensitive extends HandWritten {
  override isGenuine(body: Buffer, request: IncomingMessage): boolean {
    return headerOf(request) === `sha256=${digestOf(body)}`
  }
}

export class LeaksDigest extends HandWritten {
  override refuse(body: Buffer): Answer {
    return { status: 401, text: `expected sha256=${digestOf(body)}` }
  }
}

export class LeaksSecret extends HandWritten {
  override refuse(): Answer {
    return { status: 401, text: JSON.stringify({ error: 'no match', config: { secret: SECRET } }) }
  }
}

export class LeaksStack extends HandWritten {
  override refuse(): Answer {
    return { status: 401, text: new Error('no match').stack ?? '' }
  }
}
