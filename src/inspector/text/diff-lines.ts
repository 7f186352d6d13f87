/** A line of a comparison: in both texts, or in one of them. */
export interface DiffLine {
  readonly sign: ' ' | '-' | '+'
  readonly text: string
}

/** Texts with more lines are only compared up to the first difference. */
const MOST_LINES = 400

/** Compares two texts. A line that both have appears once. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [one, other] = [before.split('\n'), after.split('\n')]
  const common = Math.max(one.length, other.length) > MOST_LINES ? [] : measure(one, other)
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < one.length || j < other.length) {
    const [left, right] = [one[i], other[j]]
    if (left !== undefined && left === right) {
      lines.push({ sign: ' ', text: left })
      i++
      j++
    } else if (left !== undefined && (right === undefined || at(common, i + 1, j) >= at(common, i, j + 1))) {
      lines.push({ sign: '-', text: left })
      i++
    } else {
      lines.push({ sign: '+', text: right ?? '' })
      j++
    }
  }
  return lines
}

/** Lengths of the longest common subsequences that start at each pair of lines. */
function measure(one: readonly string[], other: readonly string[]): readonly (readonly number[])[] {
  const common = Array.from({ length: one.length + 1 }, () => new Array<number>(other.length + 1).fill(0))
  for (let i = one.length - 1; i >= 0; i--)
    for (let j = other.length - 1; j >= 0; j--) {
      const row = common[i]
      if (row === undefined) continue
      row[j] = one[i] === other[j] ? at(common, i + 1, j + 1) + 1 : Math.max(at(common, i + 1, j), at(common, i, j + 1))
    }
  return common
}

function at(common: readonly (readonly number[])[], i: number, j: number): number {
  return common[i]?.[j] ?? 0
}
