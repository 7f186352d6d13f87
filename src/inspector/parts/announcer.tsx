import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { page } from '../model/page-model.ts'
import { count } from '../text/count.ts'
import { Icon } from './small.tsx'

const EVERY_MS = 2_000

/** Announces the connection and counts of new and failed deliveries to screen readers, at most every two seconds. */
export function Announcer(): JSX.Element {
  const [text, setText] = useState('')
  useEffect(() => {
    let told = { link: page.link, last: page.rows.lastOrder, failed: countFailed() }
    const timer = setInterval(() => {
      const now = { link: page.link, last: page.rows.lastOrder, failed: countFailed() }
      const words = [
        now.link !== told.link && `connection ${now.link}`,
        now.last > told.last && count(now.last - told.last, 'new delivery', 'new deliveries'),
        now.failed > told.failed && `${now.failed - told.failed} failed`,
      ].filter(Boolean)
      told = now
      if (words.length > 0) setText(words.join(', '))
    }, EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <div class="unseen" aria-live="polite">
      {text}
    </div>
  )
}

/** The last message to the user. */
export function ToastLine(): JSX.Element {
  const { toast } = page
  return (
    <div class={toast?.isError ? 'toast bad' : 'toast'} role="status" hidden={toast === undefined}>
      {toast?.isError && <Icon sign="✕ " />}
      {toast?.text}
    </div>
  )
}

function countFailed(): number {
  return page.rows.all.filter(({ status }) => status === 'failed').length
}
