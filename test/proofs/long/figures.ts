/** A measured figure and its goal. */
export interface Figure {
  readonly name: string
  readonly measured: string
  readonly goal: string
  readonly isMet: boolean
}

/** Prints a figure as one line, and makes the process fail if its goal is missed. */
export function report({ name, measured, goal, isMet }: Figure): void {
  console.log(`${name.padEnd(52)} ${measured.padEnd(30)} ${goal.padEnd(34)} ${isMet ? 'ok' : 'MISSED'}`)
  if (!isMet) process.exitCode = 1
}
