import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { listenToKeys } from './keys.tsx'
import { listScreens, readAddress } from './model/address.ts'
import { IS_ALONE } from './model/api.ts'
import { connect } from './model/connection.ts'
import { hasInbox, refreshInbox, watchInbox } from './model/inbox.ts'
import { countAll } from './model/list.ts'
import { store } from './model/store.ts'
import { Header } from './parts/header.tsx'
import { ListScreen } from './screens/list.tsx'
import { WebhooksScreen } from './screens/webhooks.tsx'

function nameView(): string {
  const { screen, open } = readAddress()
  const name = listScreens().find(([each]) => each === screen)?.[1] ?? 'Inspector'
  return [open && (store.find(open)?.type ?? 'Event'), name, 'Postern'].filter(Boolean).join(' · ')
}

const ANNOUNCE_EVERY_MS = 2_000
const DRAW_EVERY_MS = 1_000

/** Announces the connection and the counts of deliveries to screen readers, at most every two seconds. */
function Announcer() {
  const [text, setText] = useState('')
  useEffect(() => {
    const tell = () => {
      const { failed, dead } = countAll()
      setText(`${store.link}; deliveries: ${store.rows.all.length}, failed: ${failed + dead}`)
    }
    setInterval(tell, ANNOUNCE_EVERY_MS) // as long as the page is open
  }, [])
  return (
    <div class="unseen" aria-live="polite">
      {text}
    </div>
  )
}

function App() {
  const { screen } = readAddress()
  const { toast, dialog: Dialog } = store
  const isThere = hasInbox()
  document.title = nameView()
  useEffect(() => {
    if (isThere) refreshInbox()
  }, [screen, isThere])
  return (
    <>
      <Header />
      <main>{screen === 'webhooks' ? <WebhooksScreen /> : <ListScreen />}</main>
      {Dialog && <Dialog />}
      <Announcer />
      <div class={toast?.isError ? 'toast bad' : 'toast'} role="status" hidden={toast === undefined}>
        {toast && `${toast.isError ? '✕ ' : ''}${toast.text}`}
      </div>
    </>
  )
}

const root = document.getElementById('page')
if (root !== null) {
  if (!IS_ALONE) connect() // the first rows come while the page is drawn
  root.textContent = ''
  store.draw = () => render(<App />, root)
  store.draw()
  // Times and countdowns move on.
  setInterval(() => document.hidden || store.changed(), DRAW_EVERY_MS)
  listenToKeys()
  watchInbox()
}
