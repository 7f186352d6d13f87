import type { JSX } from 'preact'
import { ClockDialog } from '../dialogs/clock-dialog.tsx'
import { FaultsDialog, toPercent } from '../dialogs/faults-dialog.tsx'
import { openHelp } from '../keys.tsx'
import { listScreens, readAddress, type Screen } from '../model/address.ts'
import { IS_ALONE, SERVER } from '../model/api.ts'
import { countAll } from '../model/list.ts'
import { store } from '../model/store.ts'
import { Button } from './fields.tsx'
import { ViewLink } from './small.tsx'

/** The chosen colours, each with its icon. */
const THEMES = [
  ['system', '◐', ''],
  ['light', '○', 'light'],
  ['dark', '●', 'dark'],
] as const

/** The top bar: screens, state of the connection, colours and help. */
export function Header(): JSX.Element {
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

/** Settings that distort all that the page shows: faults, the clock and the scale of delays. Each opens its form. */
function Distortions(): JSX.Element {
  const { faults, clock, settings } = store.state ?? {}
  const { fail = 0, duplicate = 0, shuffle, latencyMs } = faults?.deliveries ?? {}
  const texts = [
    fail > 0 && `${toPercent(fail)} % lost`,
    duplicate > 0 && `${toPercent(duplicate)} % twice`,
    latencyMs && `${latencyMs.join('-')} ms`,
    shuffle && 'any order',
    ...(faults?.answers.map(({ count, answer }) => `${count} × ${answer}`) ?? []),
  ].filter(Boolean)
  const scale = settings?.retryScale ?? 1
  const time = [clock?.isManual && 'manual clock', scale !== 1 && `×${scale}`].filter(Boolean).join(' ')
  const chip = (text: string, name: string, prefix: string, draw: () => JSX.Element) => (
    <Button
      class={text === '' ? 'quiet' : 'chip'}
      label={text === '' ? name.toLowerCase() : prefix + text}
      aria-label={`${name}: ${text || 'as usual'}`}
      onClick={() => store.set({ dialog: draw })}
    />
  )
  return (
    <>
      {chip(texts.join(', '), 'Faults', 'faults: ', () => (
        <FaultsDialog />
      ))}
      {chip(time, 'Clock', '', () => (
        <ClockDialog />
      ))}
    </>
  )
}
