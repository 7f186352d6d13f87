import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { styleText } from 'node:util'
import type { Command } from 'commander'
import { CASES, nameFor } from '../../check/cases.ts'
import {
  type CheckProgress,
  type CheckResult,
  checkReceiver,
  commandProbe,
  formatReport,
  type Probe,
  type Report,
  type ReportFormat,
  urlProbe,
} from '../../check/check.ts'
import { toDetail } from '../../check/format-report.ts'
import { PLAIN_TYPE } from '../../check/maker.ts'
import { toPage } from '../../check/page.ts'
import { listOwn, showFollowing, showSummary, sortByStatus } from '../../check/report.ts'
import { listUnjudged } from '../../check/unchecked.ts'
import { collectWords, nameUrl, readCount, readDuration, signatureHeaderOption } from '../input/read-option.ts'
import { addSecretOptions, readSecret, type SecretOptions } from '../input/secret.ts'
import { ExitError, endIfInterrupted, hasColour, type Io, messageOf, tell, usageError } from '../io.ts'
import { showProgress } from '../output/progress-line.ts'
import { addCommand } from './add-group.ts'

interface CheckCommandOptions extends SecretOptions {
  readonly timeout?: number
  readonly patience?: number
  readonly concurrency: number
  readonly only?: readonly string[]
  readonly skip?: readonly string[]
  readonly accountKey: string
  readonly signatureHeader: string
  readonly type?: string
  readonly probe?: string
  readonly probeCmd?: string
  readonly json?: string
  readonly junit?: string
  readonly md?: string
  readonly strict?: true
  readonly all?: true
  readonly yes?: true
  readonly explain?: string
}

const MOST_NAMED = 3
/** Id of the check that a plain delivery is accepted. */
const PLAIN = 'accepts-valid'

/** `postern check`: judges a receiver over HTTP. */
export function addCheck(program: Command, io: Io): void {
  const command = addCommand(
    program,
    'check',
    'Judge a receiver, in whatever language it is written, by what it answers over HTTP.',
    'Exit codes: 0 nothing failed, 1 a check failed (with --strict, or warned), all were skipped, or the receiver ended, hung or limited requests, 2 usage, 3 nothing answers there, 130 interrupted.',
    'postern check http://localhost:3000/webhooks --secret-env WEBHOOK_SECRET',
    'postern check http://localhost:3000/webhooks --secret-file secret.txt --probe http://localhost:3000/probe --junit report.xml',
  ).argument('[url]', 'where the service delivers to')
  addSecretOptions(command)
    .option('--timeout <time>', 'how long an answer may take: 500ms, 10s (default: 10s)', readDuration)
    .option(
      '--patience <time>',
      'how long it may put a delivery off, or take for what it acknowledged (default: 30s)',
      readDuration,
    )
    .option('--concurrency <n>', 'checks under way at the same time', readCount, 8)
    .option('--only <id>', 'check nothing else: ids or groups, with commas or several times', collectWords)
    .option('--skip <id>', 'leave out: ids or groups, likewise', collectWords)
    .option('--account-key <key>', 'the accountKey of the test events', 'check')
    .addOption(signatureHeaderOption())
    .option(
      '--type <type>',
      'the type of the plain events, if its work is for another: financeInvoice.* (default: contact.*)',
    )
    .option('--probe <url>', 'GET ?id= gives { "runs": n }, POST ?id=&fail=1 makes the next run fail')
    .option('--probe-cmd <command>', 'the same by a command, given "runs ID" or "fail ID"')
    .option('--json <file>', 'write the report as JSON; - is standard output')
    .option('--junit <file>', 'write it as JUnit XML')
    .option('--md <file>', 'write it as Markdown')
    .option('--all', 'print also what follows from one mistake that was found')
    .option('--strict', 'exit 1 on warnings too')
    .option('--yes', 'send the test events also to a host that is not this machine')
    .option('--explain <id>', 'print the page of one check, and send nothing')
    .action(async (url: string | undefined, options: CheckCommandOptions) => {
      mustBeFiles(options)
      if (options.explain !== undefined) io.stdout.write(explain(options.explain, options.signatureHeader))
      else if (url === undefined) throw usageError('Give the URL of the receiver.')
      else await check(url, options, io)
    })
}

async function check(url: string, options: CheckCommandOptions, io: Io): Promise<void> {
  const { timeout, patience, concurrency, only, skip, accountKey, signatureHeader, type, yes } = options
  const probe = toProbe(options)
  const secret = await readSecret(options, io)
  let standing: CheckProgress = { done: 0, total: 0, running: [] }
  const end = showProgress({ ...io, isJson: false }, () => ({ text: formatStanding(standing), record: {} }))
  const report = await checkReceiver(url, {
    secret,
    timeoutMs: timeout,
    patienceMs: patience,
    concurrency,
    skip,
    accountKey,
    signatureHeader,
    type,
    probe,
    // Otherwise a receiver that refuses everything would pass.
    only: only && [PLAIN, ...only],
    allowRemote: yes === true,
    signal: io.interrupt,
    onProgress: (progress) => {
      standing = progress
    },
  }).finally(end)
  await writeReports(report, options, io)
  const { fail, warn } = report.summary
  endIfInterrupted(io)
  if (!report.isReachable) throw new ExitError('unreachable')
  const isAdded = only !== undefined && !only.includes(PLAIN) && !only.includes('reach')
  const asked = report.checks.filter(({ id }) => id !== PLAIN || !isAdded)
  if (asked.every(({ status }) => status === 'skipped')) {
    tell(io, 'Nothing was judged: every check was skipped.')
    throw new ExitError('failed')
  }
  // With a diagnosis, checks that would fail may have been left out: the receiver ended, hung or limited requests.
  if (report.diagnosis !== undefined || fail > 0 || (options.strict === true && warn > 0)) throw new ExitError('failed')
  const unjudged = listUnjudged(asked)
  if (unjudged.length === 0) return
  tell(io, `Not judged, and therefore not passed: ${unjudged.map(({ id }) => id).join(', ')}.`)
  throw new ExitError('failed')
}

/** `18 of 105 checks done, waiting for answer-in-time, work-twice and 2 more` */
export function formatStanding({ done, total, running }: CheckProgress): string {
  const more = running.length > MOST_NAMED ? ` and ${running.length - MOST_NAMED} more` : ''
  const awaited = running.slice(0, MOST_NAMED).join(', ') || 'deliveries that tell the cause'
  return `${done} of ${total} checks done, waiting for ${awaited}${more}`
}

async function writeReports(report: Report, options: CheckCommandOptions, io: Io): Promise<void> {
  const files: readonly (readonly [string | undefined, ReportFormat])[] = [
    [options.json, 'json'],
    [options.junit, 'junit'],
    [options.md, 'markdown'],
  ]
  const isTaken = files.some(([file]) => file === '-')
  if (isTaken) tell(io, `${report.target}: ${showSummary(report.summary)}`)
  else io.stdout.write(printReport(report, hasColour(io, io.stdout), options.all === true))
  const failures: string[] = []
  for (const [file, format] of files) {
    const text = formatReport(report, format)
    if (file === '-') io.stdout.write(text)
    else if (file !== undefined)
      await writeFile(file, text).catch((error: unknown) => {
        failures.push(`${file} cannot be written: ${messageOf(error)}`)
      })
  }
  if (failures.length > 0) throw usageError(failures.join('; '))
}

/** Ends the command if the file of a report is a URL, or that of another one, which it would overwrite. */
function mustBeFiles({ json, junit, md }: CheckCommandOptions): void {
  for (const [name, file = ''] of Object.entries({ json, junit, md }))
    if (/^https?:/i.test(file))
      throw usageError(
        `${nameUrl(`--${name}`, file)} is a URL, not the file of the report: --${name} - for standard output.`,
      )
  const places = [json, junit, md].flatMap((file) => (file === undefined ? [] : file === '-' ? file : resolve(file)))
  const twice = places.find((place, at) => places.indexOf(place) !== at)
  if (twice !== undefined) throw usageError(`Two reports go to ${twice}: give each a file of its own.`)
}

function toProbe({ probe, probeCmd }: CheckCommandOptions): Probe | undefined {
  if (probe !== undefined && probeCmd !== undefined) throw usageError('Give --probe or --probe-cmd, not both.')
  if (probeCmd !== undefined) return commandProbe(probeCmd)
  if (probe === undefined) return undefined
  if (!URL.canParse(probe)) throw usageError('--probe is not a URL.')
  return urlProbe(new URL(probe))
}

function explain(id: string, signatureHeader: string): string {
  const single = CASES.find((each) => each.id === id)
  if (single === undefined)
    throw usageError(`There is no check "${id}". There are: ${CASES.map((each) => each.id).join(', ')}.`)
  return toPage(nameFor(single, { signatureHeader, plainType: PLAIN_TYPE, model: 'contact' }))
}

const COLOURS = { pass: 'green', fail: 'red', warn: 'yellow', info: 'cyan', skipped: 'gray' } as const

/** Writes a report for people: failures first, with details. @param all prints checks that follow from the diagnosis, too */
function printReport(report: Report, isColoured: boolean, all: boolean): string {
  const { diagnosis, checks, target, summary } = report
  const lines: string[] = []
  const summed = `${target}: ${showSummary(summary)}\n`
  if (diagnosis !== undefined) {
    lines.push(isColoured ? styleText('bold', diagnosis.text) : diagnosis.text)
    if (!report.isReachable && !all) return `${lines.join()}\n${summed}`
    if (!all && diagnosis.follows.length > 0) lines.push(`${showFollowing(diagnosis)}; --all shows them`)
    lines.push('')
  }
  for (const check of sortByStatus(all ? checks : listOwn(report))) lines.push(...toLines(check, isColoured))
  lines.push('', 'Not checked:', ...report.unchecked.map(({ text }) => `- ${text}`))
  return `${lines.join('\n')}\n\n${summed}`
}

function toLines(check: CheckResult, isColoured: boolean): readonly string[] {
  const word = check.status.padEnd(7)
  const status = isColoured ? styleText(COLOURS[check.status], word) : word
  const line = `${status} ${check.id.padEnd(28)} ${check.reason}`
  if (check.status !== 'fail' && check.status !== 'warn') return [line]
  return [line, ...toDetail(check).map((text) => `          ${text}`)]
}
