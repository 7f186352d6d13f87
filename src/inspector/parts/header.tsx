import type { JSX } from 'preact'
import { listScreens, readAddress, type Screen } from '../model/address.ts'
import { IS_ALONE, SERVER } from '../model/api.ts'
import { countFailed } from '../model/list.ts'
import { store, type Theme, useStore } from '../model/store.ts'
import { Button } from './fields.tsx'
import { ViewLink } from './small.tsx'

/** The top bar: screens, state of the connection, zone of times, colours and help. */
export function Header(): JSX.Element {
  const { screen } = useStore(readAddress)
  const link = useStore(() => store.link)
  const counts: Partial<Record<Screen, number>> = {
    deliveries: useStore(countFailed),
    inbox: useStore(() => store.inbox.counts?.dead ?? 0),
  }
  useStore(() => store.state?.hasInbox)
  return (
    <header class="top">
      <span class="brand">postern</span>
      <nav aria-label="Screens">
        {listScreens().map(([each, name]) => (
          <ViewLink key={each} view={{ screen: each }} isCurrent={each === screen}>
            {name}
            {counts[each] ? (
              <span class="count" title={each === 'inbox' ? 'dead letters' : 'failed deliveries'}>
                {counts[each]}
              </span>
            ) : null}
          </ViewLink>
        ))}
      </nav>
      <span class="push" />
      <span class={`link ${link}`} id="link">
        <span class="dot" aria-hidden="true" />
        {link === 'stopped' ? `stopped: ${SERVER} does not answer` : link}
      </span>
      <ZoneSwitch />
      <ThemeSwitch />
      <Button
        class="quiet"
        label="?"
        aria-label={IS_ALONE ? 'Keys' : 'Keys and filters'}
        onClick={() => store.set({ dialog: { kind: 'help' } })}
      />
    </header>
  )
}

function ZoneSwitch(): JSX.Element {
  const isUtc = useStore(() => store.isUtc)
  const label = `Times: ${isUtc ? 'UTC' : 'local'}. Switch to ${isUtc ? 'local' : 'UTC'} (u)`
  return (
    <Button
      class="quiet"
      label={isUtc ? 'UTC' : 'local'}
      aria-label={label}
      title={label}
      onClick={() => store.setUtc(!isUtc)}
    />
  )
}

const THEMES: Readonly<Record<Theme, readonly [icon: string, next: Theme]>> = {
  system: ['◐', 'light'],
  light: ['○', 'dark'],
  dark: ['●', 'system'],
}

function ThemeSwitch(): JSX.Element {
  const theme = useStore(() => store.theme)
  const [icon, next] = THEMES[theme]
  const label = `Colours: ${theme}. Switch to ${next}`
  return <Button class="quiet" label={icon} aria-label={label} title={label} onClick={() => store.setTheme(next)} />
}
