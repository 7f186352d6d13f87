/** Returns the settings of a server that make it forget events, each with the fix, from its answers to INFO. */
export function findForgetfulSettings(info: string): readonly string[] {
  const { aof_enabled: appendOnly, maxmemory_policy: policy } = parseInfo(info)
  const found: string[] = []
  if (appendOnly === '0')
    found.push(
      'Redis runs with "appendonly no": after a crash or a restart it has forgotten events, and copies of those run again. Set "appendonly yes".',
    )
  if (policy !== undefined && policy !== 'noeviction')
    found.push(
      `Redis runs with "maxmemory-policy ${policy}": when its memory is full it drops events that are done or under way, and copies of those run again. Set "maxmemory-policy noeviction".`,
    )
  return found
}

function parseInfo(info: string): Readonly<Partial<Record<string, string>>> {
  return Object.fromEntries([...info.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, name = '', value = '']) => [name, value]))
}
