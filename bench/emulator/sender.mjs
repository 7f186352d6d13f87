/** One sender in a process of its own: `sender.mjs NAME URL`. Answers `{ count }` with the time that so many deliveries took. */
const { createSender } = await import(`./${process.argv[2]}.mjs`)
const send = await createSender(process.argv[3])

process.on('message', async ({ count }) => {
  try {
    const [cpu, started] = [process.cpuUsage(), performance.now()]
    await send(count)
    const { user, system } = process.cpuUsage(cpu)
    process.send({ cpu: (user + system) / count, wall: ((performance.now() - started) * 1_000) / count })
  } catch (error) {
    process.send({ error: String(error) })
  }
})
process.on('disconnect', () => process.exit())
