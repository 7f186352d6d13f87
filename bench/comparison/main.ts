import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type CheckResult, checkReceiver, urlProbe } from 'postern/check'
import { Contestant, print } from '../harness.ts'
import { SECRET } from '../receivers/by-hand.mjs'

/** The package of each receiver, and what of the checks says nothing about it. */
const CONTESTANTS: Readonly<Record<string, { readonly package?: string; readonly skip: readonly string[] }>> = {
  postern: { skip: [] },
  octokit: { package: '@octokit/webhooks', skip: [] },
  tern: { package: '@hookflo/tern', skip: [] },
  stripe: { package: 'stripe', skip: ['signature'] },
  standardwebhooks: { package: 'standardwebhooks', skip: ['signature'] },
  svix: { package: 'svix', skip: ['signature'] },
}

/** Runs the checker against the smallest receiver of each project: prints a table of groups, and the checks that fail. */
export async function benchComparison(): Promise<void> {
  const reports: (readonly [string, readonly CheckResult[]])[] = []
  for (const [name, { package: dependency, skip }] of Object.entries(CONTESTANTS)) {
    const contestant = new Contestant(name, 'comparison/server.mjs', [name])
    try {
      const url = `http://127.0.0.1:${await contestant.ask<number>({ port: true })}`
      const probe = urlProbe(new URL(`${url}/probe`))
      const { checks, diagnosis } = await checkReceiver(`${url}/webhooks`, { secret: SECRET, probe, skip })
      reports.push([dependency === undefined ? name : `${dependency} ${versionOf(dependency)}`, checks])
      if (diagnosis !== undefined) console.log(`${name}: ${diagnosis.text}`)
    } finally {
      contestant.stop()
    }
  }
  const groups = [...new Set(reports.flatMap(([, results]) => results.map(({ group }) => group)))]
  const rows = reports.map(([name, results]) => [
    name,
    ...groups.map((group) => toCell(results.filter((result) => result.group === group))),
  ])
  print('checks passed, of those that were judged', [['', ...groups], ...rows])
  for (const [name, results] of reports) {
    const missed = results.filter(({ status }) => status === 'fail' || status === 'warn')
    console.log(`\n${name}`)
    for (const { id, status, reason } of missed) console.log(`  ${status} ${id}: ${reason}`)
  }
}

function toCell(results: readonly CheckResult[]): string {
  const judged = results.filter(({ status }) => status !== 'skipped')
  return judged.length === 0 ? '' : `${judged.filter(({ status }) => status === 'pass').length} of ${judged.length}`
}

function versionOf(dependency: string): string {
  const path = createRequire(new URL('../package.json', import.meta.url)).resolve.paths(dependency)?.[0]
  const { version } = JSON.parse(readFileSync(`${path}/${dependency}/package.json`, 'utf8')) as { version: string } // npm's
  return version
}
