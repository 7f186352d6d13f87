import { type JSX, render } from 'preact'
import { useEffect } from 'preact/hooks'
import { DialogHost } from './dialogs/dialog-host.tsx'
import { listScreens, readAddress, type Screen, SECTIONS } from './model/address.ts'
import { IS_ALONE } from './model/api.ts'
import { connect } from './model/connection.ts'
import { watchInbox } from './model/inbox.ts'
import { listenToKeys } from './model/keys.ts'
import { paint, store, useStore } from './model/store.ts'
import { Announcer, ToastLine } from './parts/announcer.tsx'
import { Header } from './parts/header.tsx'
import { DeliveriesScreen } from './screens/deliveries.tsx'
import { InboxScreen } from './screens/inbox.tsx'
import { ServiceScreen } from './screens/service.tsx'
import { WebhooksScreen } from './screens/webhooks.tsx'

const SCREENS: Readonly<Record<Screen, () => JSX.Element>> = {
  deliveries: DeliveriesScreen,
  inbox: InboxScreen,
  webhooks: WebhooksScreen,
  service: ServiceScreen,
}

/** The title of the window: the open delivery, event or section, and its screen. */
function nameView(): string {
  const { screen, delivery, item, section } = readAddress()
  const type = delivery && (store.rows.find(delivery)?.type ?? 'Delivery')
  const open = type ?? item ?? (section && SECTIONS[section])
  const name = listScreens().find(([each]) => each === screen)?.[1] ?? 'Inspector'
  return [open, name, 'Postern'].filter(Boolean).join(' · ')
}

function App(): JSX.Element {
  const { screen } = useStore(readAddress)
  const title = useStore(nameView)
  useEffect(() => {
    document.title = title
  }, [title])
  const Shown = SCREENS[screen]
  return (
    <>
      <Header />
      <main class={screen}>
        <Shown />
      </main>
      <DialogHost />
      <Announcer />
      <ToastLine />
    </>
  )
}

/** Closes open menus after a click on one of their items, or anywhere else on the page. */
function closeMenus(): void {
  document.addEventListener('click', ({ target }) => {
    for (const menu of document.querySelectorAll<HTMLDetailsElement>('.menu[open]')) {
      const isSummary = target instanceof Element && target.closest('summary')?.parentElement === menu
      if (!isSummary) menu.open = false
    }
  })
}

const root = document.getElementById('page')
if (root !== null) {
  paint()
  root.textContent = ''
  render(<App />, root)
  listenToKeys()
  closeMenus()
  if (!IS_ALONE) connect()
  watchInbox()
}
