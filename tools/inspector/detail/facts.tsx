import type { ComponentChildren, JSX } from 'preact'
import { copyText } from '../model/actions.ts'
import { Button } from '../parts/fields.tsx'
import { showExactly } from '../text/bytes.ts'
import { count } from '../text/count.ts'

/** A button that copies the text beside it. */
export function Copy({ text, what }: { readonly text: string; readonly what: string }): JSX.Element {
  const label = `Copy the ${what}`
  return (
    <Button class="plain copy" label="copy" title={label} aria-label={label} onClick={() => copyText(text, what)} />
  )
}

/** Names with their values. */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value], index) => (
        <div key={`${name} ${index}`}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Headers, exactly as they were sent. */
export function Headers({ headers }: { readonly headers: readonly (readonly [string, string])[] }): JSX.Element {
  const text = headers.map(([name, value]) => `${name}: ${value}`).join('\n')
  return (
    <div class="headers">
      <details class="fold">
        <summary>{count(headers.length, 'header', 'headers')}</summary>
        <Facts facts={headers.map(([name, value]) => [name, showExactly(value)])} />
      </details>
      <Copy text={text} what="headers" />
    </div>
  )
}
