/** `1 delivery`, `12 deliveries`. */
export function count(number: number, one: string, several: string): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : several}`
}
