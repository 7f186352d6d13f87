/**
 * Finds the candidate that was probably meant by a word: the nearest one by letters that are missing, added, changed or swapped, whatever
 * their case.
 *
 * @param limit maximum number of such slips
 */
export function findNearest(word: string, candidates: Iterable<string>, limit = toLimit(word)): string | undefined {
  let nearest: string | undefined
  let least = limit + 1
  for (const candidate of candidates) {
    const slips = countSlips(word.toLowerCase(), candidate.toLowerCase())
    if (slips < least) [nearest, least] = [candidate, slips]
  }
  return nearest
}

/**
 * Finds the candidate that was certainly meant by a word: all but one letter are the same. A word with one letter more, such as `contract`
 * for `contact`, may be another word, unless the letter is doubled or a plural's.
 */
export function findSlip(word: string, candidates: Iterable<string>): string | undefined {
  const nearest = findNearest(word, candidates, 1)
  if (nearest === undefined || word.length <= nearest.length) return nearest
  const at = [...word].findIndex((letter, index) => letter !== nearest[index])
  return word[at] === 's' || word[at] === word[at - 1] ? nearest : undefined
}

function toLimit(word: string): number {
  return word.length < 5 ? 1 : 2
}

/** Computes the restricted Damerau-Levenshtein distance. */
function countSlips(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1]
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      const ways = [(last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, (last[column - 1] ?? 0) + (isSame ? 0 : 1)]
      if (isSwapped) ways.push((beforeLast[column - 2] ?? 0) + 1)
      current.push(Math.min(...ways))
    }
    ;[beforeLast, last] = [last, current]
  }
  return last[b.length] ?? 0
}
