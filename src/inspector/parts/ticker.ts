import { useEffect, useReducer } from 'preact/hooks'
import { page } from '../model/page-model.ts'

const listeners = new Set<() => void>()

setInterval(() => {
  if (!document.hidden) for (const listener of [...listeners]) listener()
}, 1_000)

/** Returns the emulator's time, or the machine's, as for an inbox. Redraws the component every second. */
export function useNow(isReal = false): number {
  const [, draw] = useReducer((count: number) => count + 1, 0)
  useEffect(() => {
    const listener = () => draw(undefined)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, [])
  return isReal ? Date.now() : page.now()
}
