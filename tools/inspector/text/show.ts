import { showDuration } from '../../../src/host/duration.ts'
import { isTime } from '../../../src/protocol/iso-time.ts'
import { escapeHidden } from '../../wire/hidden.ts'

export function count(number: number, one: string, several: string): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : several}`
}

export function fromBase64(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
}

/** Makes white space visible, and escapes characters that would hide text or change its direction. */
export function showExactly(text: string): string {
  return escapeHidden(text.replace(/\r/g, '␍').replace(/\t/g, '→').replace(/\n/g, '⏎\n'))
}

/** Acts as `showExactly` on formatted text, whose line breaks are not part of the original. */
export function showReadably(text: string): string {
  return showExactly(text).replaceAll('⏎\n', '\n')
}

export function showSize(bytes: number): string {
  if (bytes < 1_024) return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`
  return bytes < 1_024 * 1_024 ? `${(bytes / 1_024).toFixed(1)} KiB` : `${(bytes / 1_024 / 1_024).toFixed(1)} MiB`
}

/** A time in the past, relative to now: `now`, `12 s ago`, `5 min ago`. */
export function showAgo(at: number, now: number): string {
  if (!isTime(at)) return 'unknown'
  return now - at < 1_000 ? 'now' : `${showShortly(Math.floor((now - at) / 1_000))} ago`
}

/** A time in the future, relative to now: `in 12 s`, `in 5 min`; `due` once it has come. */
export function showIn(at: number, now: number): string {
  if (!isTime(at)) return 'unknown'
  const ms = at - now
  if (ms <= 0) return 'due'
  return ms < 1_000 ? `in ${Math.round(ms)} ms` : `in ${showShortly(Math.ceil(ms / 1_000))}`
}

function showShortly(seconds: number): string {
  return showDuration(seconds * 1_000)
    .split(' ')
    .slice(0, 2)
    .join(' ')
}

/** The exact time in the zone of the machine: `2025-01-31 14:30:00.000 +01:00`. */
export function showExact(at: string | null): string {
  if (at === null) return 'unknown'
  const minutes = -new Date(at).getTimezoneOffset()
  const local = new Date(Date.parse(at) + minutes * 60_000).toISOString().replace('T', ' ').slice(0, -1)
  const zone = [Math.trunc(Math.abs(minutes) / 60), Math.abs(minutes) % 60].map((part) => String(part).padStart(2, '0'))
  return `${local} ${minutes < 0 ? '-' : '+'}${zone.join(':')}`
}
