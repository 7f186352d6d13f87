import { setMaxListeners } from 'node:events'

/** Makes a controller whose signal any number of handlers may pass on: Node takes eleven listeners for a leak. */
export function makeController(): AbortController {
  const controller = new AbortController()
  try {
    setMaxListeners(0, controller.signal)
  } catch {
    // Some hosts take event emitters only.
  }
  return controller
}
