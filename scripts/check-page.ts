/** Writes `docs/reference/checks.md` from the source of the checks: `npx tsx scripts/check-page.ts`. A test compares the two. */
import { writeFileSync } from 'node:fs'
import { GROUPS, type Group } from '../tools/check/case.ts'
import { CASES, type GroupedCase } from '../tools/check/cases.ts'
import { tell } from '../tools/check/page.ts'

const ABOUT: Readonly<Record<Group, string>> = {
  reach: 'Deliveries reach the receiver, and its answers come back in time.',
  signature: 'The receiver refuses everything that the service has not signed, in whatever form it comes.',
  bytes: 'The receiver accepts everything that is signed, however the JSON is formatted.',
  meaning: 'The receiver handles each event for what it is: known or not, new or a duplicate.',
  time: 'The receiver accepts events for as long as the service may send them.',
  leak: 'Answers tell the sender nothing that helps to forge a signature.',
  effect:
    'The work of each event is done as often as it should be. All of these checks need a probe, which says first which types of events are counted. To wait for a queue, a check sends one more event after the others.',
  load: 'The receiver withstands large bodies, empty bodies and bursts.',
}

/** Writes all checks as one page, for `docs/reference/checks.md`. */
export function toReference(cases: readonly GroupedCase[]): string {
  const groups = GROUPS.map((group) => {
    const own = cases.filter((single) => single.group === group)
    return `## ${group}\n\n${ABOUT[group]}\n\n${own.map((single) => `### ${single.id}\n\n${tell(single)}`).join('\n\n')}`
  })
  return `# Checks

This page lists the checks of \`postern check\` and \`checkReceiver\` by group. \`scripts/check-page.ts\` generates it
from the source of the checks; \`npx postern check --explain ID\` prints the part about one check. To run them, see
[the command line](cli.md#postern-check) and [the guide for receivers in other languages](../guides/other-languages.md).

With a probe, a 2xx without work fails in every group: if the probe counts the work of plain events (contact.created, or \`--type\`), it must
count that of every one that gets a 2xx, or the check fails, whatever its level. This holds for a record of which a check sends one event,
in the account of the run, if the record is active and has an e-mail address. Anything else the receiver may acknowledge and ignore. A
check waits until no more work has been done for the time of \`--patience\`; all checks wait at the same time. Repetitions and failures are
checked for each type whose work the probe counts: the owner decides which.

Every report ends with what was not checked: survival of a crash first, then the checks that were skipped, several processes, how long ids
are kept, and comparison in constant time.

${groups.join('\n\n')}
`
}

if (process.argv[1] === import.meta.filename)
  writeFileSync(new URL('../docs/reference/checks.md', import.meta.url), toReference(CASES))
