const HEX = /^[0-9a-f]{64}$/i

/** Returns the 32 bytes of a digest in hexadecimal behind a prefix; undefined if it is malformed. */
export function hexDigest(text: string | undefined, prefix = ''): Uint8Array | undefined {
  const digest = after('hexDigest', text, prefix)
  return digest !== undefined && HEX.test(digest) ? Buffer.from(digest, 'hex') : undefined
}

/** Returns the 32 bytes of a digest in base64 behind a prefix; undefined if it is malformed. */
export function base64Digest(text: string | undefined, prefix = ''): Uint8Array | undefined {
  const digest = after('base64Digest', text, prefix)
  const bytes = Buffer.from(digest ?? '', 'base64') // skips what it does not know
  return bytes.length === 32 && bytes.toString('base64') === digest ? bytes : undefined
}

/** Returns seconds since 1970, written in 1 to 12 digits, as milliseconds; undefined if they are malformed. */
export function unixSeconds(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) * 1_000 : undefined
}

/** Returns the two parts of a text around the first mark; the second is empty if there is none. */
export function splitOnce(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + mark.length)]
}

function after(name: string, text: string | undefined, prefix: string): string | undefined {
  if (text !== undefined && typeof text !== 'string')
    throw new TypeError(`${name} takes the text of a header, and got something else.`)
  return text?.startsWith(prefix) ? text.slice(prefix.length) : undefined
}
