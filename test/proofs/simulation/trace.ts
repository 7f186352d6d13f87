/** The record of a run, one line for each event. */
export class Trace {
  readonly lines: string[] = []
  readonly isOn: boolean
  readonly #now: () => number

  constructor(isOn: boolean, now: () => number) {
    this.isOn = isOn
    this.#now = now
  }

  /** Writes a line. The text is made only if the trace is on. */
  say(who: string, toText: () => string): void {
    if (this.isOn) this.lines.push(`${showTime(this.#now())}  ${who.padEnd(8)}  ${toText()}`)
  }
}

/** Returns a simulated time as `hours:minutes:seconds.milliseconds`. */
export function showTime(ms: number): string {
  const whole = Math.floor(ms)
  const pad = (value: number, digits: number) => String(value).padStart(digits, '0')
  const [hours, minutes, seconds] = [whole / 3_600_000, (whole / 60_000) % 60, (whole / 1_000) % 60].map(Math.floor)
  return `${pad(hours ?? 0, 2)}:${pad(minutes ?? 0, 2)}:${pad(seconds ?? 0, 2)}.${pad(whole % 1_000, 3)}`
}
