import type { JSX } from 'preact'
import { ClockDialog } from '../dialogs/clock-dialog.tsx'
import { FaultsDialog, toPercent } from '../dialogs/faults-dialog.tsx'
import { go, listScreens, readAddress, type Screen } from '../model/address.ts'
import { IS_ALONE, SERVER } from '../model/api.ts'
import { nameZones } from '../model/filter.ts'
import { countAll } from '../model/list.ts'
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
    deliveries: useStore(() => countAll().failed),
    inbox: useStore(() => store.inbox.counts?.dead ?? countAll().dead),
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
      {!IS_ALONE && <Distortions />}
      <span class={`link ${link}`} id="link">
        ● {link === 'stopped' ? `stopped: ${SERVER} does not answer` : link}
      </span>
      {quiet(isUtc ? 'UTC' : 'local', `Times: ${isUtc ? 'UTC' : 'local'}. Switch to ${isUtc ? 'local' : 'UTC'}`, () =>
        setZone(!isUtc),
      )}
      {quiet(icon, `Colours: ${theme}. Switch to ${next}`, () => store.setTheme(next))}
      {quiet('?', 'Keys (?)', () => store.set({ dialog: { kind: 'help' } }))}
    </header>
  )
}

/** Switches the zone of times. Those of the filter name theirs from then on, so that they stay the same. */
function setZone(isUtc: boolean): void {
  go({ query: nameZones(readAddress().query, store.isUtc) }, false)
  store.setUtc(isUtc)
}

/** Settings that distort all that the page shows: faults, the clock and the scale of delays. Each opens its form. */
function Distortions(): JSX.Element {
  const { faults, clock, settings } = useStore(() => store.state) ?? {}
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
      onClick={() => store.set({ dialog: { kind: 'form', draw } })}
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
