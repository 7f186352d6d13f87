/** Returns a test for the type of an event, in any case: a type with those below it, or a pattern in which `*` stands for any text. */
export function matchType(wanted: string): (type: string) => boolean {
  const pattern = wanted.replace(/[^\w*]/g, '\\$&').replaceAll('*', '.*')
  const test = new RegExp(`^${pattern}${wanted.includes('*') ? '' : '(\\..*)?'}$`, 'is')
  return (type) => wanted === '' || test.test(type)
}
