import { useEffect, useReducer } from 'preact/hooks'
import { page } from '../model/page-model.ts'

const listeners = new Set<() => void>()

setInterval(() => {
  if (!document.hidden) for (const listener of [...listeners]) listener()
}, 1_000)

/** The emulator's time, or that of the machine, by which an inbox goes; has a component drawn again every second. */
export function useNow(isReal = false): number {
  const [, draw] = useReducer((count: number) => count + 1, 0)
  useEffect(() => {
    const listener = () => draw(undefined)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, [])
  return isReal ? Date.now() : page.now()
}
