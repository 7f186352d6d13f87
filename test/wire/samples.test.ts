import { expect, it } from 'vitest'
import { SERVICE_EVENT_TYPES } from '../../src/protocol/events.ts'
import { SAMPLES } from '../../tools/wire/samples.ts'
import { SIGNATURE_NAME } from '../../tools/wire/signature-name.ts'

it.each([...SERVICE_EVENT_TYPES, 'contact'] as const)('the sample of %s has fields, as JSON can carry them', (type) => {
  expect(Object.keys(SAMPLES[type]).length).toBeGreaterThan(1)
  expect(JSON.parse(JSON.stringify(SAMPLES[type]))).toEqual(SAMPLES[type])
})

it('the name of the signature header is written as the service writes it', () => {
  expect(SIGNATURE_NAME).toBe('X-Service-Signature')
})
