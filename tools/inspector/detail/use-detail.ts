import { useEffect, useState } from 'preact/hooks'
import type { DeliveryDetail } from '../../emulator/contract.ts'
import { api, describeError, NoAnswer, toPath } from '../model/api.ts'
import { store } from '../model/store.ts'

export interface Loaded<T> {
  readonly value?: T | undefined
  readonly error?: string | undefined
  /** True if the server refused the call: what it described is gone. The last answer stays. */
  readonly isRefused?: boolean
}

export function useDetail(id: string | undefined): Loaded<DeliveryDetail> {
  const version = String(store.rows.find(id ?? '')?.change)
  return useCall<DeliveryDetail>(id && `GET ${toPath(id)}`, version)
}

/** Makes a call, and again when the version changes. The old answer stays until the server answers anew, and while the call is undefined. */
export function useCall<T>(line: string | undefined, version: string): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T> & { readonly line?: string }>({})
  useEffect(() => {
    if (line === undefined) return
    let isWanted = true
    api<T>(line).then(
      (value) => isWanted && setLoaded({ line, value }),
      (cause) => {
        const failed = { line, error: describeError(cause), isRefused: !(cause instanceof NoAnswer) }
        if (isWanted) setLoaded((old) => (old.line === line ? { ...old, ...failed } : failed))
      },
    )
    return () => {
      isWanted = false
    }
  }, [line, version])
  // The answer of another call is never shown as the answer of this one.
  return line === undefined || loaded.line === line ? loaded : {}
}
