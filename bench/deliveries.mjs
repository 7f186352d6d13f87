let count = 0

/** A contact event of exactly `size` bytes with an id that no other has. */
export function makeBody(size) {
  const id = `evt_${String(process.pid).padStart(8, '0')}${String(count++).padStart(16, '0')}`
  const record = {
    _id: '65f0c1a2b3d4e5f6a7b8c9d0',
    firstName: 'Zoe',
    lastName: 'Okafor',
    email: 'zoe@example.test',
    status: 'active',
    notes: '',
  }
  const event = {
    id,
    type: 'contact.created',
    timestamp: '2026-01-01T00:00:00.000Z',
    accountKey: 'acme',
    data: { record },
  }
  record.notes = 'n'.repeat(size - JSON.stringify(event).length)
  return { id, body: Buffer.from(JSON.stringify(event)) }
}

export const SECRET = 'whsec_c2VjcmV0LW9mLXRoZS1iZW5jaC0wMTIz'
