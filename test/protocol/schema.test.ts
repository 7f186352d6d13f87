import { runInNewContext } from 'node:vm'
import { record, type StandardSchema } from 'postern'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { checkData, isTypeOnly } from '../../src/protocol/schema.ts'

/** A schema whose validate returns exactly this, as schemas in plain JavaScript can. */
function schemaOf(validate: (value: unknown) => unknown): StandardSchema {
  // These tests are about values that a library may return against its types.
  return { '~standard': { version: 1, vendor: 'test', validate: validate as StandardSchema['~standard']['validate'] } }
}

describe('checkData', () => {
  it.each([
    ['no path', undefined, ''],
    ['keys', ['a', 0, 'b'], 'a.0.b'],
    ['path segments', [{ key: 'a' }, { key: 0 }], 'a.0'],
    ['a symbol', [Symbol('tag')], 'Symbol(tag)'],
  ])('accepts issues with %s', (_what, path, dotted) => {
    const schema = schemaOf(() => ({ issues: [{ message: 'no', ...(path && { path }) }] }))
    expect(checkData(schema, 1)).toEqual({ issues: [{ path: dotted, message: 'no' }] })
  })

  it.each([
    ['undefined', undefined],
    ['null', null],
  ])('treats issues that are %s as a success, and leaves the field out', (_what, issues) => {
    const checked = checkData(
      schemaOf((value) => ({ typed: true, value, issues })),
      7,
    )
    expect(checked).toEqual({ value: 7 })
    expect('issues' in checked).toBe(false)
  })

  it('treats an empty list of issues as a failure, as the contract says', () => {
    expect(
      checkData(
        schemaOf((value) => ({ value, issues: [] })),
        7,
      ),
    ).toEqual({ issues: [] })
  })

  it.each([
    ['another realm', () => runInNewContext('Promise.resolve({ issues: [{ message: "no" }] })')],
    [
      'another library',
      // biome-ignore lint/suspicious/noThenProperty: a promise that is not of the language is what this is about
      () => ({ then: (resolve: (result: unknown) => void) => resolve({ issues: [{ message: 'no' }] }) }),
    ],
  ])('waits for a promise of %s', async (_what, validate) => {
    expect(await checkData(schemaOf(validate), 7)).toEqual({ issues: [{ path: '', message: 'no' }] })
  })
})

describe('record', () => {
  it('lets every value pass unchanged', () => {
    const value = { _id: '1', nested: {} }
    expect(checkData(record(), value)).toEqual({ value })
  })

  it('is recognized as a schema that need not run', () => {
    expect(isTypeOnly(record())).toBe(true)
    expect(isTypeOnly(z.unknown())).toBe(false)
    expect(isTypeOnly(schemaOf((value) => ({ value })))).toBe(false)
  })
})
