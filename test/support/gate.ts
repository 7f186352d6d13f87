/** A gate on which a handler waits until the test lets it continue or fail. */
export class Gate<T = void> {
  readonly promise: Promise<T>
  readonly open: (value: T) => void
  readonly fail: (error: unknown) => void

  constructor() {
    let [open, fail]: [(value: T) => void, (error: unknown) => void] = [() => {}, () => {}]
    this.promise = new Promise<T>((resolve, reject) => {
      ;[open, fail] = [resolve, reject]
    })
    this.open = open
    this.fail = fail
  }
}
