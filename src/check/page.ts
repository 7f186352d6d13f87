import { GROUPS, type Group } from './case.ts'
import type { GroupedCase } from './cases.ts'

const ABOUT: Readonly<Record<Group, string>> = {
  reach: 'Deliveries get there, and answers come back in time.',
  signature: 'Everything is refused that the service has not signed, in whatever form it comes.',
  bytes: 'Everything is accepted that was signed, however it is written.',
  meaning: 'Events are taken for what they are, known or not, new or again.',
  time: 'Events are taken for as long as the service may send them.',
  leak: 'Refusals do not tell the sender anything that helps to forge.',
  effect:
    'The work is done as often as it should be. All of it needs a probe. One more event is sent behind the others where a queue has to be waited for.',
  load: 'Size, emptiness and crowds are borne.',
}

/** The page of a check, for a terminal. */
export function toPage(single: GroupedCase): string {
  return `# ${single.id}

Group: ${single.group}.

${tell(single)}

Alone: \`npx postern check URL --only ${single.id}\`
`
}

/** All checks on one page, for the documents. */
export function toReference(cases: readonly GroupedCase[]): string {
  const groups = GROUPS.map((group) => {
    const own = cases.filter((single) => single.group === group)
    return `## ${group}\n\n${ABOUT[group]}\n\n${own.map((single) => `### ${single.id}\n\n${tell(single)}`).join('\n\n')}`
  })
  return `# Checks

What \`postern check\` and \`checkReceiver\` try, in the order in which they do. This page is written by \`scripts/check-page.ts\` from the
source of the checks; \`npx postern check --explain ID\` prints a part of it. How to run them:
[the command line](cli.md#postern-check), and [for a receiver in another language](../guides/other-languages.md).

Not among them: whether signatures are compared in constant time, since over a network the noise is larger than the difference; and
whether ids are forgotten too early, since a check would have to wait for hours.

${groups.join('\n\n')}
`
}

function tell({ sends, expects, why, fix }: GroupedCase): string {
  return `**Sent.** ${sends}

**Expected.** ${expects}

**Why it matters.** ${why}

**If it is not so.** ${fix}`
}
