import type { GroupedCase } from './cases.ts'

export function toPage(single: GroupedCase): string {
  return `# ${single.id}

Group: ${single.group}.

${tell(single)}

Alone: \`npx postern check URL --only ${single.id}\`
`
}

/** Writes the part about a check, which all pages of it share. */
export function tell({ sends, expects, why, fix }: GroupedCase): string {
  return `**Sent.** ${sends}

**Expected.** ${expects}

**Why it matters.** ${why}

**If it is not so.** ${fix}`
}
