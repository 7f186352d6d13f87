/** What loading one module costs: CPU in ms, and resident memory in bytes. */
process.on('disconnect', () => process.exit())
process.on('message', async () => {
  const [cpu, rss] = [process.cpuUsage(), process.memoryUsage().rss]
  if (process.argv[2] !== 'nothing') await import(process.argv[2])
  const { user, system } = process.cpuUsage(cpu)
  process.send({ ms: (user + system) / 1_000, rss: process.memoryUsage().rss - rss })
})
