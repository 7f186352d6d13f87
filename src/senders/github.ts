import { createHmac } from 'node:crypto'
import { ConfigurationError, FUNCTION, findNearest, type OpenData, type OpenTypes, type Sender } from '../engine.ts'
import { hexDigest, splitOnce } from './digests.ts'
import { type OnceOptions, readOnce } from './once.ts'
import { toSnake } from './spell.ts'

/** The types of events, `push` or `issues.opened`, from a map of payloads by event such as `EventPayloadMap` of `@octokit/webhooks-types`. */
export type GitHubTypes<Payloads> = [Payloads] extends [never]
  ? OpenTypes
  : { [N in NamedPayload<Payloads> as N['type']]: N['data'] }

type NamedPayload<Payloads> = { [E in keyof Payloads & string]: Named<E, Payloads[E]> }[keyof Payloads & string]
type Named<E extends string, Payload> = Payload extends { action: infer Action extends string }
  ? { type: `${E}.${Action}`; data: Payload }
  : { type: E; data: Payload }

/** Options of `github`. */
export interface GitHubOptions extends OnceOptions {
  /**
   * Returns the tenant that a body names. Default: the id of its installation, organization, repository or user, the first that it has, such as
   * `organization:5`. A secret of one repository needs its name: `(body) => String(Object(body.repository).full_name)`.
   */
  readonly account?: ((body: OpenData) => string | undefined) | undefined
}

const DAY_MS = 86_400_000
/** Events with an action, which is a part of their type. Some are missing, and others will come. */
const WITH_ACTION = (
  'branch_protection_configuration branch_protection_rule check_run check_suite code_scanning_alert commit_comment custom_property ' +
  'custom_property_values dependabot_alert deploy_key deployment deployment_protection_rule deployment_review deployment_status discussion ' +
  'discussion_comment github_app_authorization installation installation_repositories installation_target issue_comment issue_dependencies issues label ' +
  'marketplace_purchase member membership merge_group meta milestone org_block organization package personal_access_token_request ' +
  'project project_card project_column projects_v2 projects_v2_item projects_v2_status_update pull_request pull_request_review pull_request_review_comment pull_request_review_thread ' +
  'registry_package release repository repository_advisory repository_dispatch repository_ruleset repository_vulnerability_alert ' +
  'secret_scanning_alert secret_scanning_alert_location secret_scanning_scan security_advisory sponsorship star sub_issues team watch ' +
  'workflow_job workflow_run'
).split(' ')
const WITHOUT_ACTION =
  'create delete fork gollum page_build ping public push repository_import security_and_analysis status team_add workflow_dispatch'.split(
    ' ',
  )
/** Events whose actions are among these. */
const KNOWN = /^(check_(run|suite)|issues|issue_comment|pull_request(_review(_comment)?)?|release|workflow_(job|run))$/
const ACTIONS = (
  'assigned auto_merge_disabled auto_merge_enabled closed completed converted_to_draft created deleted demilestoned dequeued dismissed ' +
  'edited enqueued in_progress labeled locked milestoned opened pinned prereleased published queued ready_for_review released reopened ' +
  'requested requested_action rerequested review_request_removed review_requested submitted synchronize transferred typed unassigned ' +
  'unlabeled unlocked unpinned unpublished untyped waiting'
).split(' ')
/** An event and an action with an underscore between them. */
const JOINED =
  /^(.+)_((?:re)?opened|closed|edited|created|deleted|labeled|assigned|completed|published|submitted|synchronize)$/
const TOKEN = /^(gh[opsur]_|github_pat_)/

/**
 * GitHub, which signs the body alone: neither the event's name nor the id of the delivery. It makes one attempt, and repeats a delivery for
 * three days on demand.
 *
 * Sources, November 2026: docs.github.com/webhooks (validating deliveries, headers, handling failed deliveries).
 *
 * @throws ConfigurationError `option_unknown`, `option_invalid`
 */
export function github<Payloads = never>(options: GitHubOptions = {}): Sender<GitHubTypes<Payloads>> {
  const once = readOnce('github', options, { account: FUNCTION })
  const { account = accountOf } = options
  return {
    name: 'GitHub',
    headers: ['x-hub-signature-256', 'x-github-event', 'x-github-delivery'],
    unsigned: ['id', 'type', 'timestamp'],
    waitsMs: 10_000,
    attempts: 1,
    duplicatesForMs: 3 * DAY_MS,
    maxBodyBytes: 26_214_400, // 25 MiB
    toKey: encodeSecret,
    spellType,
    readHead(headers) {
      const digest = hexDigest(headers['x-hub-signature-256'], 'sha256=')
      return digest && { digests: [digest] }
    },
    nameEvent(body, headers, { receivedAt, digest }) {
      const event = headers['x-github-event'] ?? ''
      return {
        id: once === 'body' ? `sha256:${digest()}` : (headers['x-github-delivery'] ?? ''),
        type: typeof body.action === 'string' ? `${event}.${body.action}` : event,
        accountKey: account(body) ?? 'github',
        timestamp: new Date(receivedAt).toISOString(),
      }
    },
    sign(body, key, { id = '', type = '' }) {
      return {
        'x-hub-signature-256': `sha256=${createHmac('sha256', key).update(body).digest('hex')}`,
        'x-github-event': type.split('.', 1)[0] ?? '',
        'x-github-delivery': id,
      }
    },
  }
}

/** Returns whose event it is by an id, which is signed and stays the same if a repository is renamed. */
function accountOf(body: OpenData): string {
  for (const owner of ['installation', 'organization', 'repository', 'sender']) {
    const { id } = Object(body[owner]) as { readonly id?: unknown }
    if (typeof id === 'number') return `${owner}:${id}`
  }
  return 'github'
}

/** Returns the type of a delivery: the event, and its action if it has one. */
function spellType(type: string): string {
  if (type.startsWith('repository_dispatch.')) return type // its action is free text
  const [joined, before = '', after] = JOINED.exec(toSnake(type)) ?? []
  if (joined !== undefined && WITH_ACTION.includes(before)) return `${before}.${after}`
  const [word, rest] = splitOnce(type.replace(/[/:]/, '.'), '.')
  const event = findNearest(toSnake(word), [...WITH_ACTION, ...WITHOUT_ACTION], 1) ?? toSnake(word)
  if (WITHOUT_ACTION.includes(event)) return event
  if (rest === '') return WITH_ACTION.includes(event) ? `${event}.*` : event
  if (event === 'repository_dispatch') return `${event}.${rest}` // chosen by who dispatches
  const action = toSnake(rest.replace(/[./:].*/, ''))
  return `${event}.${KNOWN.test(event) ? spellAction(action) : action}`
}

function spellAction(action: string): string {
  if (action === 'merged') return 'closed' // of a pull request: `merged` is a field
  return (
    findNearest(action, ACTIONS, 1) ?? ACTIONS.find((known) => [`${action}d`, `${action}ed`].includes(known)) ?? action
  )
}

function encodeSecret(secret: string): Uint8Array {
  if (!TOKEN.test(secret)) return Buffer.from(secret)
  throw new ConfigurationError(
    'secret_unusable',
    'The signing secret is an access token of GitHub. Give the text that was entered as the secret in the settings of the webhook.',
  )
}
