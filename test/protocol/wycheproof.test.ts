import { existsSync, readFileSync } from 'node:fs'
import { sign, verify } from 'postern'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../support/repository.ts'

const FILE = `${ROOT}../shared/vectors/wycheproof-hmac-sha256.json`

interface Vectors {
  readonly groups: readonly {
    readonly keySize: number
    readonly tagSize: number
    readonly tests: readonly {
      readonly id: number
      readonly key: string
      readonly msg: string
      readonly tag: string
      readonly ok: boolean
    }[]
  }[]
}

const isHere = existsSync(FILE)
if (!isHere) console.log('Wycheproof vectors are not on this machine: test/protocol/wycheproof.test.ts is skipped.')
const { groups }: Vectors = isHere ? JSON.parse(readFileSync(FILE, 'utf8')) : { groups: [] }

const fromHex = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))

describe.skipIf(!isHere)("Wycheproof's HMAC-SHA256 set", () => {
  it('is the known set', () => {
    expect(groups.reduce((sum, { tests }) => sum + tests.length, 0)).toBe(174)
  })

  it.each(groups)('agrees on keys of $keySize and tags of $tagSize bits', ({ tagSize, tests }) => {
    for (const { id, key, msg, tag, ok } of tests) {
      const [body, secret] = [fromHex(msg), fromHex(key)]
      const signature = sign(body, secret)
      expect(signature.slice('sha256='.length).startsWith(tag), `sign, case ${id}`).toBe(ok)
      expect(verify(body, signature, secret), `own signature, case ${id}`).toBe(true)
      // A truncated tag is never a valid signature here, correct or not.
      expect(verify(body, `sha256=${tag}`, secret), `verify, case ${id}`).toBe(ok && tagSize === 256)
    }
  })
})
