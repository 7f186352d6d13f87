/** A figure that was measured, beside the goal it was measured for. */
export interface Figure {
  readonly name: string
  readonly measured: string
  readonly goal: string
  /** Undefined for what depends on the speed of the machine: it is printed, and judged by nobody. */
  readonly isMet?: boolean | undefined
}

/** Prints a figure as one line, and makes the process fail where its goal is missed. */
export function report({ name, measured, goal, isMet }: Figure): void {
  const verdict = isMet === undefined ? '' : isMet ? 'ok' : 'MISSED'
  console.log(`${name.padEnd(52)} ${measured.padEnd(30)} ${goal.padEnd(34)} ${verdict}`.trimEnd())
  if (isMet === false) process.exitCode = 1
}
