import type { GroupedCase } from './cases.ts'

/** The page of a check, as it stands in `docs/checks`. */
export function toPage({ id, group, sends, expects, why, fix }: GroupedCase): string {
  return `# ${id}

Group: ${group}.

**Sent.** ${sends}

**Expected.** ${expects}

**Why it matters.** ${why}

**If it is not so.** ${fix}

Alone: \`npx postern check URL --only ${id}\`
`
}

/** The list of all pages. */
export function toIndex(cases: readonly GroupedCase[]): string {
  const rows = cases.map(
    ({ id, group, sends, expects }) => `| [\`${id}\`](${id}.md) | ${group} | ${sends} | ${expects} |`,
  )
  return `# Checks

What \`postern check\` and \`checkReceiver\` try, in the order in which they do. These pages are written by
\`scripts/check-pages.ts\` from the source of the checks. How to run them: [the command line](../reference/cli.md).

| id | group | sent | expected |
|---|---|---|---|
${rows.join('\n')}

Not among them: whether signatures are compared in constant time. Over a network the noise is larger than the difference, so that
neither answer could be trusted.
`
}
