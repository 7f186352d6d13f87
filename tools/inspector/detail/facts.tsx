import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { copyText } from '../model/actions.ts'
import { Button } from '../parts/fields.tsx'
import { escapeHidden, showExactly } from '../text/bytes.ts'
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

interface TitleOptions {
  readonly title: string
  readonly onClose: () => void
  /** The lines below the title. */
  readonly children: ComponentChildren
}

/** The heading of a detail that is open beside a list. */
export function DetailTitle({ title, onClose, children }: TitleOptions): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    // On a narrow screen the detail hides the list, and with it the element that had the focus.
    if (matchMedia('(max-width: 860px)').matches) heading.current?.focus()
  }, [])
  return (
    <header class="title">
      <h1 ref={heading} tabIndex={-1}>
        {escapeHidden(title)}
      </h1>
      <Button class="quiet" label="✕" aria-label="Close (Esc)" onClick={onClose} />
      {children}
    </header>
  )
}
