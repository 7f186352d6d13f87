import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { context } from '@opentelemetry/api'
import { DataPointType, type MetricData } from '@opentelemetry/sdk-metrics'
import type { Inbox, InboxTry, Outcome } from 'postern'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import type { TakenItem } from '../../src/engine.ts'
import { observeGauges } from '../../src/otel/gauges.ts'
import { createMetrics } from '../../src/otel/metrics.ts'
import {
  ATTRIBUTES,
  COUNTERS,
  GAUGES,
  HISTOGRAMS,
  IN_FLIGHT,
  QUERY_FAILURES,
  SCHEMA_URL,
} from '../../src/otel/names.ts'
import { findEngine } from '../engines/require.ts'
import { findSection, readTable } from '../support/markdown.ts'
import { ROOT, readText } from '../support/repository.ts'
import { makeTestFolder } from '../support/test-folder.ts'
import { enableContexts, Sdk } from './scene.ts'

const GUIDE = 'docs/guides/observability.md'
const FOLDER = 'docs/guides/observability'

const table = readTable(findSection(readText(GUIDE), '## All names')).map(
  ([name = '', kind = '', unit = '', attributes = '']) => ({ name, kind, unit, attributes: attributes.split(', ') }),
)
const METRICS: readonly string[] = [
  ...Object.values({ ...COUNTERS, ...HISTOGRAMS, ...GAUGES }).map(([name]) => name),
  ...[IN_FLIGHT, QUERY_FAILURES],
]
const metricRows = table.filter(({ kind }) => kind !== 'span')

beforeAll(enableContexts)
afterAll(() => context.disable())

/** Every metric as the SDK exports it, with every attribute that it can have. */
async function collectAll(): Promise<ReadonlyMap<string, MetricData>> {
  const sdk = new Sdk()
  const meter = sdk.meterProvider.getMeter('test')
  const metrics = createMetrics(meter, 'shop', () => true)
  const outcome = { outcome: 'failed', status: 503, code: 'inbox_unavailable', type: 'a.b' } as unknown as Outcome
  for (const path of ['deliveries', 'dispatches', 'tries', 'lateEnds'] as const) metrics.ended(path, outcome)
  metrics.answered(outcome, 1)
  metrics.handled('contact.*', 1, 'Error')
  metrics.put(outcome, 1)
  const tried = { n: 1, code: 'handler_failed', endedAt: 1 } as InboxTry
  metrics.taken({ dueAt: 1, since: 2, failures: 0, isSuspect: true, tries: [tried] } as unknown as TakenItem)
  metrics.settled({ next: 'bury', marks: [], tried })
  metrics.stalled()
  const counts = async () => ({ waiting: 1, running: 1, dead: 1, oldestDueAt: 1 })
  const inbox = { counts } as unknown as Inbox // only this part of it is used
  observeGauges(meter, { name: 'shop', inbox, inFlight: 1, stop() {} })
  return sdk.collect()
}

const KINDS = { 0: 'histogram', 1: 'exponential histogram', 2: 'gauge', 3: 'counter' } as const

function kindOf(metric: MetricData): string {
  if (metric.dataPointType === DataPointType.SUM && !metric.isMonotonic) return 'up-down counter'
  return KINDS[metric.dataPointType]
}

describe('the table of names', () => {
  it('has the metrics as they are exported, and no others', async () => {
    const exported = [...(await collectAll()).values()].map((metric) => {
      const keys = metric.dataPoints.flatMap(({ attributes }) => Object.keys(attributes))
      const { name, unit } = metric.descriptor
      return { name, kind: kindOf(metric), unit, attributes: [...new Set(keys)].sort() }
    })
    const byName = (a: { readonly name: string }, b: { readonly name: string }) => (a.name < b.name ? -1 : 1)
    const documented = metricRows.map((row) => ({ ...row, attributes: [...row.attributes].sort() }))
    expect(documented.sort(byName)).toEqual(exported.sort(byName))
    expect(exported.map(({ name }) => name)).toEqual(METRICS.toSorted())
  })

  it('has every attribute', () => {
    const documented = new Set(table.flatMap(({ attributes }) => attributes))
    expect([...documented].sort()).toEqual(Object.values(ATTRIBUTES).sort())
  })

  it('names the release of the conventions whose schema is exported', () => {
    const [, release] = /\/(\d+\.\d+)\.\d+$/.exec(SCHEMA_URL) ?? []
    expect(readText(GUIDE)).toContain(`(https://opentelemetry.io/docs/specs/semconv/messaging/) ${release},`)
  })
})

describe('names of the semantic conventions', () => {
  it('are those of their release', () => {
    const constants = 'node_modules/@opentelemetry/semantic-conventions'
    expect(SCHEMA_URL).toContain(JSON.parse(readText(`${constants}/package.json`)).version)
    const known =
      readText(`${constants}/dist/experimental_attributes.mjs`) + readText(`${constants}/dist/experimental_metrics.mjs`)
    const stable = readText(`${constants}/dist/stable_attributes.mjs`)
    const names = [...Object.values(ATTRIBUTES), ...METRICS].filter((name) => !name.startsWith('postern.'))
    expect(names.length).toBeGreaterThan(8)
    expect(names.filter((name) => !`${known}${stable}`.includes(`"${name}"`))).toEqual([])
  })
})

// ── Dashboard and alerts ───────────────────────────────────────────────────────────────────────────────────────────

const toLabel = (name: string) => name.replaceAll('.', '_')

/** Returns the names of a metric in Prometheus: by OTLP it appends the unit, and the exporter of the SDK does not. */
function toPrometheus({ name, kind, unit }: { readonly name: string; readonly kind: string; readonly unit: string }) {
  const ends = kind === 'histogram' ? ['_bucket', '_count', '_sum'] : [kind === 'counter' ? '_total' : '']
  const units = unit === 's' ? ['', '_seconds'] : ['']
  return ends.map((end) => units.map((seconds) => `${toLabel(name)}${seconds}${end}`))
}

const series = metricRows.flatMap((row) =>
  toPrometheus(row).map((names) => ({ names, labels: row.attributes.map(toLabel) })),
)

/** Returns the errors of a query: metrics that do not exist, or only in one of their forms, and labels that they do not have. */
function findMistakes(query: string): readonly string[] {
  const mistakes: string[] = []
  const labels = new Set<string>()
  const withoutBy = query.replace(/\bby \([^)]*\)/g, '')
  const selectors = [...withoutBy.matchAll(/(\w+)?\{([^}]*)\}|\b((?:postern|messaging)_\w+)(?=[[)])/g)]
  if (selectors.length === 0) return [`${query} asks for nothing`]
  for (const [, plain, matchers = '', bare] of selectors) {
    const pattern = /__name__=~"([^"]*)"/.exec(matchers)?.[1] ?? plain ?? bare ?? ''
    const found = series.filter(({ names }) => names.every((name) => new RegExp(`^(?:${pattern})$`).test(name)))
    if (found.length !== 1) mistakes.push(`${pattern} is ${found.length} metrics`)
    for (const label of found[0]?.labels ?? []) labels.add(label)
    for (const [, label = ''] of matchers.matchAll(/(\w+)(?:=~|!=|!~|=)"/g))
      if (label !== '__name__' && !labels.has(label)) mistakes.push(`${pattern} has no label ${label}`)
  }
  for (const [, by = ''] of query.matchAll(/\bby \(([^)]*)\)/g))
    for (const label of by.split(', ')) if (label !== 'le' && !labels.has(label)) mistakes.push(`by ${label}`)
  return mistakes
}

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[]
}
interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
}

const dashboard: Dashboard = JSON.parse(readText(`${FOLDER}/dashboard.json`))
const alerts = (parse(readText(`${FOLDER}/alerts.yml`)) as Rules).groups.flatMap(({ rules }) => rules)
const queries = [
  ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
  ...alerts.map(({ alert, expr }) => [alert, expr] as const),
]

describe('dashboard and alerts', () => {
  it.each(queries)('query only existing metrics and labels: %s', (_title, query) => {
    expect(findMistakes(query)).toEqual([])
  })

  it('never sum the values of each process about the shared inbox', () => {
    for (const [title, query] of queries)
      if (/postern_inbox_(waiting|running|dead\b|oldest)/.test(query)) expect(query, title).toMatch(/^max by /)
  })

  it('show every metric', () => {
    const shown = queries.map(([, query]) => query).join('\n')
    expect(metricRows.filter(({ name, kind }) => kind !== 'span' && !shown.includes(toLabel(name)))).toEqual([
      expect.objectContaining({ name: COUNTERS.dispatches[0] }),
    ])
  })
})

const promtool = findEngine('promtool')

/** Evaluates the rules with Prometheus' own tool for an hour over the series of two processes. Returns its errors. */
function evaluate(values: Readonly<Record<string, string>>, firing: readonly string[]): string {
  const folder = makeTestFolder()
  const input = Object.entries(values).flatMap(([name, numbers]) =>
    ['a', 'b'].map((instance) => ({
      series: `${name.replace(/\{|$/, (end) => (end ? end : '{}')).replace('{', `{messaging_destination_name="shop", instance="${instance}", `)}`,
      values: numbers,
    })),
  )
  const samples = firing.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 }))
  const test = {
    interval: '1m',
    input_series: input,
    promql_expr_test: [
      { expr: 'count by (alertname) (ALERTS{alertstate="firing"})', eval_time: '50m', exp_samples: samples },
    ],
  }
  const file = join(folder, 'test.json')
  const rules = join(ROOT, FOLDER, 'alerts.yml')
  writeFileSync(file, JSON.stringify({ rule_files: [rules], evaluation_interval: '1m', tests: [test] }))
  const { status, stdout, stderr } = spawnSync(promtool ?? '', ['test', 'rules', file], { encoding: 'utf8' })
  return status === 0 ? '' : stdout + stderr
}

describe.skipIf(promtool === undefined)('the alerts, by promtool', () => {
  const of = (outcome: string) => `postern_deliveries_total{postern_outcome="${outcome}"}`
  const buckets = (unit: string, slow: string) => ({
    [`postern_delivery_duration${unit}_bucket{le="2.5"}`]: '0+1x60',
    [`postern_delivery_duration${unit}_bucket{le="10"}`]: slow,
    [`postern_delivery_duration${unit}_bucket{le="+Inf"}`]: slow,
  })

  it.each(['', '_seconds'])('fire if something is wrong, with durations as %j', (unit) => {
    const sick = {
      [`postern_inbox_oldest_age${unit}`]: '0 400+60x60',
      postern_inbox_dead: '0x5 3x60',
      postern_inbox_query_failures_total: '0 0+1x60',
      postern_inbox_suspects_total: '0x40 1x20',
      postern_inbox_stalls_total: '0x40 1x20',
      [of('handled')]: '0+1x60',
      [of('failed')]: '0+1x60',
      'postern_deliveries_total{postern_outcome="rejected", postern_code="signature_mismatch"}': '0+10x60',
      ...buckets(unit, '0+10x60'),
    }
    const names = alerts.map(({ alert }) => alert)
    expect(evaluate(sick, names)).toBe('')
  })

  it('are silent if all is well', () => {
    const well = {
      postern_inbox_oldest_age_seconds: '0+1x60',
      postern_inbox_dead: '0x60',
      postern_inbox_query_failures_total: '0x60',
      postern_inbox_suspects_total: '5x60',
      postern_inbox_stalls_total: '0x60',
      [of('handled')]: '0+100x60',
      [of('failed')]: '0+1x60',
      ...buckets('_seconds', '0+1x60'),
    }
    expect(evaluate(well, [])).toBe('')
  })
})
