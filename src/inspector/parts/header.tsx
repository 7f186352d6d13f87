import type { JSX } from 'preact'
import { listScreens, readAddress, type Screen } from '../model/address.ts'
import { SERVER } from '../model/api.ts'
import { inbox } from '../model/inbox.ts'
import { listFailed } from '../model/list.ts'
import { page } from '../model/page-model.ts'
import { type Theme, ui } from '../model/ui.ts'
import { Button } from './fields.tsx'
import { ViewLink } from './small.tsx'

/** The top bar: screens, state of the connection, colours and help. */
export function Header(): JSX.Element {
  const { screen } = readAddress()
  const counts: Partial<Record<Screen, number>> = { failed: listFailed().length, inbox: inbox.counts?.dead ?? 0 }
  return (
    <header class="top">
      <span class="brand">postern</span>
      <nav aria-label="Screens">
        {listScreens().map(([each, name]) => (
          <ViewLink key={each} view={{ screen: each }} isCurrent={each === screen}>
            {name}
            {counts[each] ? <span class="count">{counts[each]}</span> : null}
          </ViewLink>
        ))}
      </nav>
      <span class="push" />
      <span class={`link ${page.link}`} id="link">
        <span class="dot" aria-hidden="true" />
        {page.link === 'stopped' ? `stopped: ${SERVER} does not answer` : page.link}
      </span>
      <ThemeSwitch />
      <Button class="quiet" label="?" aria-label="Keys and filters" onClick={() => ui.open({ kind: 'help' })} />
    </header>
  )
}

const THEMES: Readonly<Record<Theme, readonly [icon: string, next: Theme]>> = {
  system: ['◐', 'light'],
  light: ['○', 'dark'],
  dark: ['●', 'system'],
}

function ThemeSwitch(): JSX.Element {
  const [icon, next] = THEMES[ui.theme]
  const label = `Colours: ${ui.theme}. Switch to ${next}`
  return <Button class="quiet" label={icon} aria-label={label} title={label} onClick={() => ui.setTheme(next)} />
}
