/** Text from outside, for a terminal, which must not take it for commands, nor turn its lines around. */
export function toPrintable(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, '?')
}
