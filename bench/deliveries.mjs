let count = 0
/** The text before and after the id of a body, by size. */
const frames = new Map()

/** Returns a contact event of exactly `size` bytes with a unique id. */
export function makeBody(size) {
  const id = `evt_${String(process.pid).padStart(8, '0')}${String(count++).padStart(16, '0')}`
  const [before, after] = frameOf(size, id.length)
  return { id, body: Buffer.from(before + id + after) }
}

function frameOf(size, idLength) {
  const known = frames.get(size)
  if (known !== undefined) return known
  const id = '#'.repeat(idLength)
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
  const frame = JSON.stringify(event).split(id)
  frames.set(size, frame)
  return frame
}
