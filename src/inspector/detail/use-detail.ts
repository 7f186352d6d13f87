import { useEffect, useState } from 'preact/hooks'
import { api, describeError, toPath } from '../model/api.ts'
import { page } from '../model/page-model.ts'
import type { DeliveryDetail, SignatureSteps } from '../shapes.ts'

/** What is known of the open delivery. */
export interface Loaded<T> {
  /** Of the last answer; undefined until there is one. */
  readonly value: T | undefined
  readonly error: string | undefined
}

const NOTHING = { value: undefined, error: undefined }

/** A delivery with its body, asked for again when it has changed. */
export function useDetail(id: string): Loaded<DeliveryDetail> {
  const row = page.rows.find(id)
  return useCall<DeliveryDetail>(`GET ${toPath(id)}`, `${row?.attempts} ${row?.status}`)
}

/** Its signature, step by step. */
export function useSignature(id: string): Loaded<SignatureSteps> {
  return useCall<SignatureSteps>(`GET ${toPath(id)}/signature`, '')
}

/** The answer of a call, asked for again when the version changes. The old one stays until the new one is there. */
export function useCall<T>(line: string, version: string): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T> & { readonly line: string }>({ ...NOTHING, line })
  useEffect(() => {
    let isWanted = true
    api<T>(line).then(
      (value) => isWanted && setLoaded({ line, value, error: undefined }),
      (error) =>
        isWanted &&
        setLoaded((before) => ({ ...(before.line === line ? before : NOTHING), line, error: describeError(error) })),
    )
    return () => {
      isWanted = false
    }
  }, [line, version])
  // What another call answered is not shown in place of this one's answer.
  return loaded.line === line ? loaded : NOTHING
}
