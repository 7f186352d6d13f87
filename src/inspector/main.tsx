import { type JSX, render } from 'preact'
import { DialogHost } from './dialogs/dialog-host.tsx'
import { readAddress, type Screen } from './model/address.ts'
import { IS_ALONE } from './model/api.ts'
import { connect } from './model/connection.ts'
import { watchInbox } from './model/inbox.ts'
import { listenToKeys } from './model/keys.ts'
import { usePage } from './model/page-model.ts'
import { paint } from './model/ui.ts'
import { Announcer, ToastLine } from './parts/announcer.tsx'
import { Header } from './parts/header.tsx'
import { Assumptions } from './screens/assumptions.tsx'
import { Calls } from './screens/calls.tsx'
import { ClockAndFaults } from './screens/clock-and-faults.tsx'
import { DeliveriesScreen } from './screens/deliveries.tsx'
import { FailedScreen } from './screens/failed.tsx'
import { InboxScreen } from './screens/inbox.tsx'
import { RecordsScreen } from './screens/records.tsx'
import { WebhooksScreen } from './screens/webhooks.tsx'

const SCREENS: Readonly<Record<Screen, () => JSX.Element>> = {
  deliveries: DeliveriesScreen,
  failed: FailedScreen,
  webhooks: WebhooksScreen,
  records: RecordsScreen,
  calls: Calls,
  clock: ClockAndFaults,
  assumptions: Assumptions,
  inbox: InboxScreen,
}

function App(): JSX.Element {
  usePage()
  const { screen } = readAddress()
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
