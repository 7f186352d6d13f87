/** A worker's figures of its claims: CPU in microseconds a claim, claims a second, milliseconds until the answer. */
export interface ClaimFigures {
  readonly cpu: number
  readonly rate: number
  readonly p50: number
  readonly p99: number
}
