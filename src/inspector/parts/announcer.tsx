import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { countFailed } from '../model/list.ts'
import { store, useStore } from '../model/store.ts'
import { count } from '../text/count.ts'
import { Icon } from './small.tsx'

const EVERY_MS = 2_000

/** Announces the connection and counts of new and failed deliveries to screen readers, at most every two seconds. */
export function Announcer(): JSX.Element {
  const [text, setText] = useState('')
  useEffect(() => {
    let told = { link: store.link, last: store.rows.lastOrder, failed: countFailed() }
    const timer = setInterval(() => {
      const now = { link: store.link, last: store.rows.lastOrder, failed: countFailed() }
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
  const toast = useStore(() => store.toast)
  return (
    <div class={toast?.isError ? 'toast bad' : 'toast'} role="status" hidden={toast === undefined}>
      {toast?.isError && <Icon sign="✕ " />}
      {toast?.text}
    </div>
  )
}
