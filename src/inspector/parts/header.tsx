import type { JSX } from 'preact'
import { follow, goTo, listScreens, NOTHING_OPEN, readAddress, type Screen, toPageUrl } from '../model/address.ts'
import { SERVER } from '../model/api.ts'
import { inbox } from '../model/inbox.ts'
import { listFailed } from '../model/list.ts'
import { type Link, page } from '../model/page-model.ts'
import { type Theme, ui } from '../model/ui.ts'

const WORDS: Readonly<Record<Link, string>> = {
  connecting: 'connecting',
  live: 'live',
  reconnecting: 'reconnecting',
  polling: 'polling',
  stopped: `stopped: ${SERVER} does not answer`,
}

/** The top bar: screens, state of the connection, colours and help. */
export function Header(): JSX.Element {
  return (
    <header class="top">
      <span class="brand">postern</span>
      <Screens />
      <span class="push" />
      <span class={`link ${page.link}`} id="link">
        <span class="dot" aria-hidden="true" />
        {WORDS[page.link]}
      </span>
      <ThemeSwitch />
      <button type="button" class="quiet" onClick={() => ui.open({ kind: 'help' })} aria-label="Keys and filters">
        ?
      </button>
    </header>
  )
}

function Screens(): JSX.Element {
  const address = readAddress()
  const counts: Partial<Record<Screen, number>> = { failed: listFailed().length, inbox: inbox.counts?.dead ?? 0 }
  return (
    <nav aria-label="Screens">
      {listScreens().map(([screen, name]) => (
        <a
          key={screen}
          href={toPageUrl({ ...address, ...NOTHING_OPEN, screen })}
          aria-current={screen === address.screen ? 'page' : undefined}
          onClick={(event) => follow(event, () => goTo(screen))}
        >
          {name}
          {counts[screen] ? <span class="count">{counts[screen]}</span> : null}
        </a>
      ))}
    </nav>
  )
}

const NEXT_THEME: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' }
const THEME_ICONS: Readonly<Record<Theme, string>> = { system: '◐', light: '○', dark: '●' }

function ThemeSwitch(): JSX.Element {
  const { theme } = ui
  const label = `Colours: ${theme}. Switch to ${NEXT_THEME[theme]}`
  return (
    <button type="button" class="quiet" aria-label={label} title={label} onClick={() => ui.setTheme(NEXT_THEME[theme])}>
      {THEME_ICONS[theme]}
    </button>
  )
}
