import { type JSX, render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { DialogHost } from './dialogs/dialog-host.tsx'
import { listScreens, readAddress, type Screen } from './model/address.ts'
import { IS_ALONE } from './model/api.ts'
import { connect } from './model/connection.ts'
import { hasInbox, refreshInbox, watchInbox } from './model/inbox.ts'
import { listenToKeys } from './model/keys.ts'
import { countAll } from './model/list.ts'
import { paint, store, useStore } from './model/store.ts'
import { closeMenus } from './parts/fields.tsx'
import { Header } from './parts/header.tsx'
import { ListScreen } from './screens/list.tsx'
import { WebhooksScreen } from './screens/webhooks.tsx'
import { count } from './text/count.ts'

const SCREENS: Readonly<Record<Screen, () => JSX.Element>> = {
  deliveries: ListScreen,
  inbox: ListScreen,
  webhooks: WebhooksScreen,
}

/** The title of the window: the open delivery or event, and its screen. */
function nameView(): string {
  const { screen, open } = readAddress()
  const name = listScreens().find(([each]) => each === screen)?.[1] ?? 'Inspector'
  return [open && (store.find(open)?.type ?? 'Event'), name, 'Postern'].filter(Boolean).join(' · ')
}

const ANNOUNCE_EVERY_MS = 2_000

/** Announces the connection and counts of new and failed deliveries to screen readers, at most every two seconds. */
function Announcer(): JSX.Element {
  const [text, setText] = useState('')
  useEffect(() => {
    const read = () => ({
      link: store.link,
      last: store.rows.all[0]?.made ?? 0,
      failed: countAll().failed + countAll().dead,
    })
    let told = read()
    const timer = setInterval(() => {
      const now = read()
      const words = [
        now.link !== told.link && `connection ${now.link}`,
        now.last > told.last && count(now.last - told.last, 'new delivery', 'new deliveries'),
        now.failed > told.failed && `${now.failed - told.failed} failed`,
      ].filter(Boolean)
      told = now
      if (words.length > 0) setText(words.join(', '))
    }, ANNOUNCE_EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <div class="unseen" aria-live="polite">
      {text}
    </div>
  )
}

function App(): JSX.Element {
  const { screen } = useStore(readAddress)
  const title = useStore(nameView)
  const toast = useStore(() => store.toast)
  const isThere = useStore(hasInbox)
  useEffect(() => {
    document.title = title
  }, [title])
  useEffect(() => {
    if (isThere) refreshInbox()
  }, [screen, isThere])
  const Shown = SCREENS[screen]
  return (
    <>
      <Header />
      <main>
        <Shown />
      </main>
      <DialogHost />
      <Announcer />
      <div class={toast?.isError ? 'toast bad' : 'toast'} role="status" hidden={toast === undefined}>
        {toast?.isError && '✕ '}
        {toast?.text}
      </div>
    </>
  )
}

/** Follows the colours and the zone of times that another tab sets. */
function followTabs(): void {
  addEventListener('storage', ({ key, newValue }) => {
    if (key === 'postern.theme') store.setTheme(newValue === 'light' || newValue === 'dark' ? newValue : 'system')
    if (key === 'postern.zone') store.setUtc(newValue === 'utc')
  })
}

const root = document.getElementById('page')
if (root !== null) {
  if (!IS_ALONE) connect() // the first rows come while the page is drawn
  paint()
  root.textContent = ''
  render(<App />, root)
  listenToKeys()
  closeMenus()
  followTabs()
  watchInbox()
}
