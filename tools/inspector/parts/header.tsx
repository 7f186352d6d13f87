import { openHelp } from '../keys.tsx'
import { listScreens, readAddress, type Screen } from '../model/address.ts'
import { IS_ALONE, SERVER } from '../model/api.ts'
import { countAll } from '../model/list.ts'
import { store } from '../model/store.ts'
import { Distortions } from './distortions.tsx'
import { Button } from './fields.tsx'
import { ViewLink } from './small.tsx'

const THEMES = [
  ['system', '◐', ''],
  ['light', '○', 'light'],
  ['dark', '●', 'dark'],
] as const

export function Header() {
  const { screen } = readAddress()
  const link = store.link
  const theme = store.theme
  const counts: Partial<Record<Screen, number>> = {
    deliveries: countAll().failed,
    inbox: store.inbox.counts?.dead ?? countAll().dead,
  }
  const [name, icon, scheme] = THEMES[theme] ?? THEMES[0]
  document.documentElement.style.colorScheme = scheme
  const setTheme = () => {
    store.set({ theme: (theme + 1) % THEMES.length })
    localStorage.setItem('postern.theme', `${store.theme}`)
  }
  const quiet = (label: string, title: string, onClick: () => void) => (
    <Button class="quiet" {...{ label, title, onClick, 'aria-label': title }} />
  )
  return (
    <header class="top line">
      <b>postern</b>
      <nav aria-label="Screens">
        {listScreens().map(([each, name]) => (
          <ViewLink key={each} view={{ screen: each }} isCurrent={each === screen}>
            {name}{' '}
            {counts[each] ? (
              <span class="count" title={each === 'inbox' ? 'dead letters' : 'failed deliveries'}>
                {counts[each].toLocaleString('en')}
              </span>
            ) : null}
          </ViewLink>
        ))}
      </nav>
      <span class="push" />
      {!IS_ALONE && <Distortions />}
      <span class={`link ${link}`} id="link">
        ● {link === 'stopped' ? `stopped: ${SERVER} does not answer` : link}
      </span>
      {quiet(icon, `Colours: ${name}`, setTheme)}
      {quiet('?', 'Keys (?)', openHelp)}
    </header>
  )
}
