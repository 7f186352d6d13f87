/** Answers every message from the bench, and ends when the bench ends. An error of `reply` is sent as `{ error }`. */
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

/** Starts to count the CPU time of this process; returns a function that returns the microseconds so far. */
export function startCpu() {
  const start = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(start)
    return user + system
  }
}
