/** A measured figure and its goal. */
export interface Figure {
  readonly name: string
  readonly measured: string
  readonly goal: string
  /** Undefined for a figure that depends on the speed of the machine: it is only printed. */
  readonly isMet?: boolean | undefined
}

/** Prints a figure as one line, and makes the process fail if its goal is missed. */
export function report({ name, measured, goal, isMet }: Figure): void {
  const verdict = isMet === undefined ? '' : isMet ? 'ok' : 'MISSED'
  console.log(`${name.padEnd(52)} ${measured.padEnd(30)} ${goal.padEnd(34)} ${verdict}`.trimEnd())
  if (isMet === false) process.exitCode = 1
}
