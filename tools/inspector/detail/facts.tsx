import type { JSX } from 'preact'
import { copyText } from '../model/actions.ts'
import { Button } from '../parts/fields.tsx'
import { Facts } from '../parts/small.tsx'
import { showExactly } from '../text/bytes.ts'
import { count } from '../text/count.ts'

/** A button that copies the text beside it. */
export function Copy({ text, what }: { readonly text: string; readonly what: string }): JSX.Element {
  const label = `Copy the ${what}`
  return (
    <Button class="plain copy" label="copy" title={label} aria-label={label} onClick={() => copyText(text, what)} />
  )
}

/** Headers, exactly as they were sent. */
export function Headers({ headers }: { readonly headers: readonly (readonly [string, string])[] }): JSX.Element {
  return (
    <details class="headers">
      <summary>{count(headers.length, 'header', 'headers')}</summary>
      <Facts facts={headers.map(([name, value]) => [name, showExactly(value)])} />
    </details>
  )
}
