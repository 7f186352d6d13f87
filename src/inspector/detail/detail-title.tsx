import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Button } from '../parts/fields.tsx'

interface DetailTitleOptions {
  readonly title: string
  readonly onClose: () => void
  /** The line below the title. */
  readonly children: ComponentChildren
}

/** The heading of a detail that is open beside a list. */
export function DetailTitle({ title, onClose, children }: DetailTitleOptions): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    // On a narrow screen the detail hides the list, and with it the element that had the focus.
    if (matchMedia('(max-width: 860px)').matches) heading.current?.focus()
  }, [])
  return (
    <div class="title">
      <div>
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        <p class="mono dim">{children}</p>
      </div>
      <Button class="quiet" label="✕" aria-label="Close (Esc)" onClick={onClose} />
    </div>
  )
}
