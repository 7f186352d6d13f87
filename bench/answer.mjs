/** Answers every message from the bench, and ends with it. What `reply` throws is sent as `{ error }`. */
export function answer(reply) {
  process.on('disconnect', () => process.exit())
  process.on('message', async (question) => {
    try {
      process.send((await reply(question)) ?? 'ok')
    } catch (error) {
      process.send({ error: String(error?.stack ?? error) })
    }
  })
}

/** Starts to count the CPU time of this process; the function that it returns tells the microseconds so far. */
export function startCpu() {
  const start = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(start)
    return user + system
  }
}
