import { gzipSync } from 'node:zlib'
import { sign } from '../../../src/protocol/signature.ts'
import type { Case, Scene, TestEvent } from '../case.ts'
import { FORGED } from '../maker.ts'
import { isSuccess, isUnjudged, mustBeRefused, mustBeRefusedAnyhow, toVerdict } from '../verdict.ts'
import { judgeEach } from '../work.ts'

const INFLATE =
  'Answer 415 to any Content-Encoding before reading the body, or turn off decompression in the body reader.'

/** Size of a body that a few kilobytes are decompressed to. */
const INFLATED_MIB = 32

/** Sizes of which receivers may read, keep or sign no more than the first part. */
const SIZES_KIB = [1, 16, 64, 100, 1_024]
/** Length of the text that is beyond such a size. */
const MORE_BYTES = 128

/** Makes deliveries of a body a little larger than this, of which not all is signed. */
function listUnsigned({ make, secret }: Scene, kib: number) {
  const { body } = make.delivery(make.event({ note: 'x'.repeat(kib * 1_024 + MORE_BYTES) }))
  const change = (at: number) => {
    const bytes = Uint8Array.from(body)
    bytes[at] = 'y'.charCodeAt(0)
    return make.delivery(body, { bytes })
  }
  const start = body.subarray(0, kib * 1_024)
  return [
    [`changed after ${kib} KiB`, change(body.length - MORE_BYTES / 2)],
    [`changed in the middle of ${kib} KiB`, change(body.length >> 1)],
    [`signed up to ${kib} KiB`, make.delivery(body, { signature: () => sign(start, secret) })],
  ] as const
}

export const signatureBodies: readonly Case[] = [
  {
    id: 'signature-large-body',
    sends: `Events of ${SIZES_KIB.join(', ')} KiB and a little more: with one letter changed after they were signed, near the end or in the middle, and with the signature of only so many bytes.`,
    expects: '401 or another 4xx to each, such as 413, or the end of the connection. Never 2xx, never 5xx.',
    why: 'A receiver that computes the digest over the start of a body, such as its first buffer, or that skips the check for a large one, lets anyone who has one delivery write the rest.',
    fix: 'Read the body to its end, and compute the digest over all of it. Answer 413 to a body that is too large for that.',
    run: (scene) =>
      judgeEach(
        scene,
        SIZES_KIB.flatMap((kib) => listUnsigned(scene, kib)),
        (answer) => (answer.failureKind === 'reset' ? toVerdict('pass', answer) : mustBeRefusedAnyhow(answer)),
      ),
  },
  {
    id: 'signature-form',
    sends:
      'Two forms with a wrong signature, one URL-encoded and one of multipart/form-data: the fields of an event, and the whole event as "payload".',
    expects: '401 or another 4xx to each. Never 2xx, never 5xx.',
    why: 'A check in a hook of the JSON parser does not run if another parser reads the body, and forms are parsed to objects as well.',
    fix: 'Check the signature next to the code that uses the body, not in a hook of one parser, and let no other parser read it.',
    run: async (scene) => {
      const event = scene.make.event()
      const { data, ...fields } = event
      const entries = { ...fields, 'data[record][_id]': scene.make.contact()._id, payload: JSON.stringify(event) }
      const multipart = new FormData()
      for (const [name, value] of Object.entries(entries)) multipart.append(name, value)
      const deliveries = [new URLSearchParams(entries), multipart].map(async (form) => {
        const written = new Response(form)
        const contentType = `${written.headers.get('content-type')}`.replace(/;charset=.*/, '')
        const body = new Uint8Array(await written.arrayBuffer())
        return [`as ${contentType.split(';')[0]}`, scene.make.delivery(body, { ...FORGED, contentType })] as const
      })
      return judgeEach(scene, await Promise.all(deliveries), mustBeRefused)
    },
  },
  {
    id: 'gzip-after-signing',
    sends: `An event that was compressed after it was signed, with "Content-Encoding: gzip"; if that is accepted, also one of ${INFLATED_MIB} MiB.`,
    expects: 'A 4xx to the first, mostly 415 or 401; a warning for 2xx. Never 2xx to the second, never 5xx.',
    why: 'A receiver that accepts this decompresses what anyone sends before it checks the signature: without a limit, a few kilobytes become gigabytes.',
    fix: `${INFLATE} At least, limit the size of what is decompressed.`,
    run: async ({ make, send }) => {
      const deliver = (event: TestEvent) => {
        const { body } = make.delivery(event)
        return send(make.delivery(body, { bytes: gzipSync(body), contentEncoding: 'gzip' }))
      }
      const answer = await deliver(make.event())
      if (!isSuccess(answer)) return mustBeRefusedAnyhow(answer)
      const large = await deliver(make.event({ note: 'x'.repeat(INFLATED_MIB * 1_048_576) }))
      return toVerdict(isSuccess(large) ? 'fail' : 'warn', [answer, large])
    },
  },
  {
    id: 'gzip-before-signing',
    sends:
      'An event that was compressed before it was signed, with "Content-Encoding: gzip"; if that is accepted, also signed bytes that are not gzip.',
    expects: 'No 2xx; or 2xx to both, from a receiver that stores the bytes without reading them.',
    why: 'The service never compresses a delivery. A receiver that decompresses one exposes its decompressor to the network, in most cases without a limit.',
    fix: INFLATE,
    run: async ({ make, send }) => {
      const deliver = (signed: Uint8Array) => send(make.delivery(signed, { contentEncoding: 'gzip' }))
      const answer = await deliver(gzipSync(make.delivery(make.event()).body))
      if (!isSuccess(answer)) return toVerdict(isUnjudged(answer) ? 'fail' : 'pass', answer)
      const other = await deliver(Buffer.from('no gzip'))
      return isSuccess(other)
        ? toVerdict('pass', [answer, other], { note: 'it takes any signed bytes unseen' })
        : toVerdict('fail', [answer, other], { note: 'the second is no gzip: the first was unpacked' })
    },
  },
]
