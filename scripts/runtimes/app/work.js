/** The work of every program's handler: what the event asks for. The cases and the checker query its record. */

/** Counts by event id the starts and ends of its handler. */
const records = new Map()
const failing = new Set()

export async function work({ id, data }) {
  const record = records.get(id) ?? { runs: 0, ended: 0 }
  records.set(id, record)
  record.runs++
  if (data.sleepMs > 0 && record.runs === 1) await new Promise((resolve) => setTimeout(resolve, data.sleepMs))
  if (failing.delete(id)) throw new Error('as the checker asked')
  record.ended++
}

export function tell(id) {
  return records.get(id) ?? { runs: 0, ended: 0 }
}

/** Answers the checker, which asks for the finished runs of an event, and by POST for the failure of its next run. */
export function probe(method, id) {
  if (method === 'POST') failing.add(id)
  return { runs: tell(id).ended }
}
