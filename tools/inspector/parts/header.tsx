import type { JSX } from 'preact'
import { listScreens, readAddress, type Screen } from '../model/address.ts'
import { SERVER } from '../model/api.ts'
import { countFailed } from '../model/list.ts'
import { store, type Theme, useStore } from '../model/store.ts'
import { Button } from './fields.tsx'
import { ViewLink } from './small.tsx'

/** The icon of each theme, and the next one. */
const THEMES: Readonly<Record<Theme, readonly [icon: string, next: Theme]>> = {
  system: ['◐', 'light'],
  light: ['○', 'dark'],
  dark: ['●', 'system'],
}

/** The top bar: screens, state of the connection, zone of times, colours and help. */
export function Header(): JSX.Element {
  const { screen } = useStore(readAddress)
  const link = useStore(() => store.link)
  const isUtc = useStore(() => store.isUtc)
  const theme = useStore(() => store.theme)
  const counts: Partial<Record<Screen, number>> = {
    deliveries: useStore(countFailed),
    inbox: useStore(() => store.inbox.counts?.dead ?? 0),
  }
  useStore(() => store.state?.hasInbox)
  const [icon, next] = THEMES[theme]
  const quiet = (label: string, title: string, onClick: () => void) => (
    <Button class="quiet" {...{ label, title, onClick, 'aria-label': title }} />
  )
  return (
    <header class="top">
      <b>postern</b>
      <nav aria-label="Screens">
        {listScreens().map(([each, name]) => (
          <ViewLink key={each} view={{ screen: each }} isCurrent={each === screen}>
            {name}
            {counts[each] ? (
              <span class="count" title={each === 'inbox' ? 'dead letters' : 'failed deliveries'}>
                {counts[each].toLocaleString('en')}
              </span>
            ) : null}
          </ViewLink>
        ))}
      </nav>
      <span class="push" />
      <span class={`link ${link}`} id="link">
        ● {link === 'stopped' ? `stopped: ${SERVER} does not answer` : link}
      </span>
      {quiet(isUtc ? 'UTC' : 'local', `Times: ${isUtc ? 'UTC' : 'local'}. Switch to ${isUtc ? 'local' : 'UTC'}`, () =>
        store.setUtc(!isUtc),
      )}
      {quiet(icon, `Colours: ${theme}. Switch to ${next}`, () => store.setTheme(next))}
      {quiet('?', 'Keys (?)', () => store.set({ dialog: { kind: 'help' } }))}
    </header>
  )
}
