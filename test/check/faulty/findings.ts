import type { CheckOptions } from 'postern/check'
import { CASES } from '../../../tools/check/cases.ts'
import * as deliveries from './deliveries.ts'
import * as effects from './effects.ts'
import { HandWritten } from './hand-written.ts'
import * as heads from './heads.ts'
import * as losses from './losses.ts'
import * as names from './names.ts'
import * as parts from './parts.ts'
import * as records from './records.ts'
import * as signatures from './signatures.ts'
import * as types from './types.ts'

/** Messages that a receiver must get, by the ids of the checks. */
interface Finding {
  readonly fail?: readonly string[]
  readonly warn?: readonly string[]
  /** Other messages that are allowed. The rest must pass. */
  readonly beside?: RegExp
  /** Groups or ids of checks that may have no other message; by default the groups of the messages. */
  readonly among?: readonly string[]
  readonly options?: Partial<CheckOptions>
  /** True if the check finds the fault only after the others. */
  readonly isWhole?: true
}

const idsOf = (pattern: RegExp) => CASES.map(({ id }) => id).filter((id) => pattern.test(id))
const PREFIXES = ['signature-no-prefix', 'signature-other-prefix']
const FORGED = idsOf(/^(signature-(?!hex-case|byte-order-mark|form|null|put)|keep-alive$)/).filter(
  (id) => !PREFIXES.includes(id),
)
const RECORDLESS = idsOf(/^(finance|sync|import|export)-/)

/** The expected message for each, by the name of its class. */
const SIGNATURES: Readonly<Record<keyof typeof signatures, Finding>> = {
  NoVerification: {
    fail: FORGED,
    warn: PREFIXES,
    beside: /^effect-none-refused$/,
  },
  Reserialising: {
    fail: ['accepts-valid', 'signature-reserialised', 'bytes-pretty'],
    beside:
      /^(bytes-|large|huge|burst|alive|late|timestamp|duplicates-|extra|unknown|deleted|updated|finance|sync|import|export|text-|data-|id-|record-|header-)/,
  },
  StringDecoding: { fail: ['bytes-split-characters', 'signature-replaced-byte'] },
  DecodingAtTheEnd: { fail: ['signature-replaced-byte'] },
  DropsByteOrderMark: { fail: ['signature-byte-order-mark'] },
  Trimming: { fail: ['bytes-pretty'] },
  UnequalLengthCompare: {
    fail: idsOf(/^signature-(missing|other-types|pattern|sha1|empty|short|non-ascii|tail|list|right-.*)$/),
    warn: PREFIXES,
  },
  PrefixCompare: { fail: ['signature-empty', 'signature-short'] },
  NoPrefixNeeded: { warn: ['signature-no-prefix'] },
  MatchesPatterns: { fail: ['signature-pattern'] },
  TakesSha1: { fail: ['signature-sha1'] },
  CaseSensitive: { among: ['signature'] },
  IgnoresTail: { fail: ['signature-tail'], beside: /^signature-list$/ },
  TakesAnyOfAList: { fail: ['signature-list'] },
  TakesFirstHeader: { fail: ['signature-right-first'] },
  TakesLastHeader: { fail: ['signature-right-last'] },
  TakesAnyHeader: { fail: ['signature-right-first', 'signature-right-last'] },
  InflatesBeforeCheck: { warn: ['gzip-after-signing'] },
  InflatesWithoutLimit: { fail: ['gzip-after-signing'] },
  InflatesAfterCheck: { fail: ['gzip-before-signing'] },
  RemembersSignatures: { fail: ['signature-remembered'] },
  TakesKnownSignaturesForDuplicates: { fail: ['signature-remembered'], beside: /^effect-once-other-bytes$/ },
  LeaksDigestInHeader: { fail: ['leak-digest'] },
  LeaksDigestAsBase64: { fail: ['leak-digest'] },
  LeaksDigestAsBase64Url: { fail: ['leak-digest'] },
  LeaksDigestInUpperCase: { fail: ['leak-digest'] },
  LeaksDigestAsBuffer: { fail: ['leak-digest'] },
  LeaksSecretInHeader: { fail: ['leak-secret'] },
  LeaksDigest: { fail: ['leak-digest'] },
  LeaksSecret: { fail: ['leak-secret'] },
  LeaksStack: { fail: ['leak-stack'] },
  TakesEmptySecret: { fail: ['signature-no-secret', 'signature-unknown-account'] },
  TakesUndefinedSecret: { fail: ['signature-no-secret', 'signature-unknown-account'] },
  TakesNullSecret: { fail: ['signature-no-secret', 'signature-unknown-account'] },
  TakesNoneSecret: { fail: ['signature-no-secret', 'signature-unknown-account'] },
  TakesNilSecret: { fail: ['signature-no-secret', 'signature-unknown-account'] },
  TakesSampleSecret: { fail: ['signature-no-secret', 'signature-unknown-account'] },
  TakesDefaultSecret: { fail: ['signature-no-secret', 'signature-unknown-account'] },
  TakesTestSecret: { fail: ['signature-no-secret', 'signature-unknown-account'] },
  TakesDevSecret: { fail: ['signature-no-secret', 'signature-unknown-account'] },
  TakesWebhookForSecret: { fail: ['signature-no-secret', 'signature-unknown-account'] },
  ComparesFirstHalf: { fail: ['signature-one-digit'] },
  ComparesSecondHalf: { fail: ['signature-one-digit'] },
  ComparesNumbers: { fail: ['signature-one-digit'] },
  ChecksNoChunks: { fail: ['signature-chunked'], beside: /^gzip-/ },
  ChecksNoPut: { fail: ['signature-put'] },
  LeaksSecretInSuccess: { fail: ['leak-secret'] },
  ChecksJsonOnly: { fail: ['signature-form'] },
  ChecksNoMultipart: { fail: ['signature-form'] },
  ChecksNoText: { fail: ['signature-text'] },
  AnswersDuplicatesUnchecked: { fail: ['signature-of-duplicate'] },
  LeaksWarningOfPhp: { fail: ['leak-stack'] },
  LeaksTraceAsJson: { fail: ['leak-stack'] },
}

const DELIVERIES: Readonly<Record<keyof typeof deliveries, Finding>> = {
  FiveMinuteTolerance: { fail: ['late-retry'], warn: ['late-replay'] },
  ConflictOnDuplicate: { fail: ['duplicate'], beside: /^duplicates-/ },
  UnauthorizedOnDuplicate: { fail: ['duplicate'], beside: /^duplicates-/ },
  SmallLimit: { fail: ['large-body'] },
  CutsSlowBodies: { fail: ['slow-body'], beside: /^huge-body$/ },
  HasFirewall: { fail: ['text-markup'], among: ['text-markup', 'text-quotes', 'number-large'] },
  AcksBeforeWork: { fail: ['effect-ack-after-work'], beside: /^effect-(copies|once|retry)/ },
  NotesBeforeWork: { fail: ['effect-copies-of-failure', 'effect-retry-after-failure'], beside: /^effect-ack/ },
  NoDedup: {
    fail: [...idsOf(/^effect-once(?!-while)/), 'effect-copies-of-failure'],
    beside: /^effect-once-while-working$/, // if a busy machine takes more than 100 ms for its answer
  },
  RacingDedup: {
    fail: ['effect-once-at-once'],
    beside: /^effect-(once-after-cut|once-while-working|copies-of-failure)$/,
  },
  WorksBeforeCheck: { fail: ['effect-none-refused'], beside: /^effect-/ },
  RefusesUnknownTypes: { fail: ['unknown-type', 'unknown-model'], beside: /^(other-models|property-names)$/ },
  NeedsWholeRecord: { fail: ['deleted-before-created'], beside: /^record-fields-missing$/ },
  ReachesIntoRecord: { fail: ['unknown-type', ...RECORDLESS], warn: ['data-missing'] },
  StrictSchema: { fail: ['extra-fields'], beside: /^(unknown|other)-model|^number-large$|^(field|property)-names$/ },
  UpdatesOnlyWhatIsThere: { fail: ['updated-before-created'], beside: /^one-record/ },
  ExactContentType: { fail: ['bytes-charset'] },
  NeedsLength: { warn: ['bytes-chunked'] },
  FailsOnBrokenJson: { fail: ['signed-not-json', 'signed-empty', 'signed-null'] },
  Redirects: { fail: ['accepts-valid'], options: { only: ['accepts-valid'] } },
  SaysYesToGet: { warn: ['get-not-2xx'] },
  BusyForOthers: { fail: ['burst'], among: ['bytes', 'burst'], options: { concurrency: 1 } },
  TurnsCopiesAway: { warn: ['duplicates-at-once'] },
  NeedsMilliseconds: { fail: ['timestamp-no-fraction', 'timestamp-fractions'], warn: ['timestamp-offset'] },
  TakesSixDigits: { fail: ['timestamp-fractions'] },
  TakesThreeOrSixDigits: { fail: ['timestamp-fractions'] },
  ReadsLinesAsText: { fail: ['bytes-line-ends'] },
  StoresThreeBytes: { fail: ['bytes-four-byte-characters'] },
  KeepsAnyBody: { warn: ['endless-body'] },
  DiesOfCuts: { fail: ['cut-connection'], among: ['cut-connection'] },
  KeepsPlacesOfCuts: { fail: ['cut-connection'], among: ['cut-connection'], options: { timeoutMs: 2_000 } },
  KeepsConnectionsOfCuts: { fail: ['cut-connection'], among: ['cut-connection'], options: { timeoutMs: 2_000 } },
  NeverAnswers: { fail: ['deadline'], options: { only: ['deadline'], skip: [], timeoutMs: 500 } },
}

const EFFECTS: Readonly<Record<keyof typeof effects, Finding>> = {
  ClaimsForAMoment: { fail: ['effect-once-while-working'], among: ['effect-once-while-working', 'effect-once'] },
  DedupesByRecord: { fail: ['effect-each-event'], beside: /^effect-/ },
  DedupesByRecordAndSecond: { fail: ['effect-each-event'], beside: /^effect-/ },
  DedupesByRecordAndMinute: { fail: ['effect-each-event'], beside: /^effect-/ },
  DedupesByTypeRecordAndSecond: { fail: ['effect-each-event'], beside: /^effect-/ },
  DedupesByContent: { fail: ['effect-each-event'], among: ['effect-each-event'] },
  DedupesByBody: { fail: ['effect-once-other-bytes'] },
  DedupesByIdAndTime: { fail: ['effect-once-other-bytes'] },
  RemembersHundredEvents: { fail: ['effect-once-after-others'], beside: /^effect-once(-at-end)?$/ },
  QueueWithoutDedup: {
    fail: idsOf(/^effect-once(?!-at-end|-after-cut|-while)/),
    beside: /^effect-/,
    options: { patienceMs: 30_000 },
  },
  RefusesWhatFailed: { fail: ['effect-retry-after-failure'] },
  NotesBeforeCheck: { fail: ['effect-after-forgery'] },
  AcksRunningCopies: { fail: ['effect-copies-of-failure'] },
  SharesAVariable: { fail: ['burst'], beside: /^(effect-|large|huge|alive)/, options: { concurrency: 1 } },
  ForgetsWithTheDuplicate: { fail: ['effect-once'], beside: /^effect-(once-|copies)/ },
  RemembersFiveHundredEvents: {
    fail: ['effect-once-at-end'],
    // A quick machine finds it earlier as well.
    beside: /^effect-once-after-others$/,
    among: ['reach', 'signature', 'bytes', 'meaning', 'effect', 'burst'],
    isWhole: true,
  },
  ForgetsSoon: { fail: ['effect-once-at-end'], among: ['effect-once-at-end'] },
  DropsQuickChanges: { fail: ['effect-one-record-at-once'], beside: /^effect-/ },
  ForgetsOldEvents: { fail: ['effect-once-late'] },
  WorksForOpenConnections: { fail: ['effect-once-after-cut'], among: ['effect-once-after-cut'] },
  ForgetsWhatItCannotAnswer: { fail: ['effect-once-after-cut'], among: ['effect-once-after-cut'] },
  NeverReleases: {
    fail: ['effect-retry-after-failure'],
    among: ['effect-retry-after-failure'],
    options: { timeoutMs: 2_000 },
  },
  RefusesAfterFailures: { fail: ['effect-after-failures'], among: ['effect-after-failures', 'effect-once'] },
  RemembersPerWorker: { fail: ['effect-once', 'effect-once-at-once', 'effect-copies-of-failure'], beside: /^effect-/ },
  QueuesBeforeCheck: { fail: ['effect-none-refused'], beside: /^effect-(ack|retry)/, options: { patienceMs: 30_000 } },
}

const HEADS: Readonly<Record<keyof typeof heads, Finding>> = {
  KnowsOneCase: { warn: ['header-lower-case'] },
  ChecksOneTypeOnly: { fail: ['signature-other-types'] },
  ForgetsDeletions: { fail: ['signature-other-types'] },
  ForgetsImports: { fail: ['signature-other-types'] },
  AnswersTrials: { fail: ['signature-other-types'] },
  TrustsTests: { fail: ['signature-other-types'] },
  EmptySecretOfUnknownAccount: { fail: ['signature-unknown-account'] },
  UndefinedSecretOfUnknownAccount: { fail: ['signature-unknown-account'] },
  NoneSecretOfUnknownAccount: { fail: ['signature-unknown-account'] },
  SecretsInAnObject: { fail: ['signature-unknown-account'] },
  ReadsBeforeCheck: { fail: ['signature-null', 'signed-null'] },
  TakesAnyPrefix: { warn: ['signature-other-prefix'] },
  TrustsItsConnection: { fail: ['keep-alive'] },
  KeepsBodies: { fail: ['keep-alive'] },
  LeavesUnsignedBodies: { fail: ['keep-alive'] },
  NeverEndsAnswers: { fail: ['answer-ends'], options: { timeoutMs: 3_000 } },
  NeverEndsRefusals: { fail: ['answer-ends'], options: { timeoutMs: 3_000 } },
  LeaksDigestInFirstLine: { fail: ['leak-digest'] },
  LeaksStackOfEncoding: { fail: ['leak-stack'] },
  LeaksStackOfSize: { fail: ['leak-stack'] },
  LeaksStackOfGet: { fail: ['leak-stack'] },
  LeaksStackOfLength: { fail: ['leak-stack'] },
}

const LOSSES: Readonly<Record<keyof typeof losses, Finding>> = {
  LosesLargeBodies: { fail: ['large-body', 'huge-body'] },
  LosesNullCharacters: { fail: ['text-null-character'] },
  LosesLongText: { fail: ['text-long'] },
  LosesKnownAddresses: { fail: ['same-email'] },
  LosesWhatIsTooMuch: { fail: ['burst'] },
  AcksFailuresOfOtherTypes: { fail: ['effect-ack-after-work'], beside: /^effect-retry/ },
  DedupesContactsOnly: { fail: ['effect-once'] },
  ForgetsFailuresOfOtherTypes: { fail: ['effect-retry-after-failure'], beside: /^effect-ack/ },
  AcksSecondFailures: { fail: ['effect-retry-after-failure'], beside: /^effect-ack/ },
  KnowsWhatFailedTwice: { fail: ['effect-ack-after-work'] },
  AcksAfterTwoTries: { fail: ['effect-ack-after-work'] },
  DropsUpdates: { warn: ['effect-types'] },
  TakesEqualTimesForOld: { warn: ['effect-each-event'] },
  ComparesTimesAsText: { fail: ['effect-each-event'] },
  StoresWholeSeconds: { fail: ['effect-each-event'], beside: /^effect-/ },
  DropsOffsets: { warn: ['effect-each-event'] },
  TriesOnceMore: { fail: ['effect-ack-after-work'], beside: /^effect-(copies|once|retry)/ },
}

const TYPES: Readonly<Record<keyof typeof types, Finding>> = {
  FailsAtRepeatedPayments: { fail: ['duplicate'], beside: /^duplicates-/ },
  RefusesRepeatedDeletions: { fail: ['duplicate'], beside: /^duplicates-/ },
  FailsAtRepeatedUpdatesOfOthers: { fail: ['duplicate'], beside: /^duplicates-/ },
  RefusesRepeatedUnknownTypes: { fail: ['duplicate'], beside: /^duplicates-/ },
  FailsAtConcurrentPayments: { fail: ['duplicates-at-once'] },
  FailsAtDeletedOpportunities: { fail: ['other-models'], beside: /-at-once$/ },
  FailsAtUpdatedInvoices: { fail: ['other-models'], beside: /-at-once$/ },
  FailsAtDeletionsOfUnknownModels: { fail: ['unknown-model'], beside: /-at-once$/ },
  LosesEveryThird: { fail: ['effect-types', 'burst'], beside: /./ },
  LosesEverySecondContact: { fail: ['effect-types', 'burst'], beside: /./ },
}

const RECORDS: Readonly<Record<keyof typeof records, Finding>> = {
  HasColumnsOf32Bits: { warn: ['number-large'] },
  RefusesNamesWithDots: { warn: ['field-names'] },
  FailsAtConcurrentCreation: { fail: ['one-record-at-once'] },
  LosesConcurrentUpdates: { fail: ['effect-one-record-at-once'] },
  FailsAtConcurrentUpdates: { fail: ['one-record-at-once'] },
  NeedsAllFields: { warn: ['record-fields-missing'] },
  NeedsTextInFields: { warn: ['record-fields-missing'] },
  InsertsOnly: { fail: ['created-after-updated'], beside: /^one-record/ },
  DeletesOnlyWhatIsThere: { fail: ['deleted-before-created'], beside: /^(unknown|other)-model/ },
  WritesStatementsByHand: { fail: ['text-quotes', 'text-markup'] },
  StoresShortText: { warn: ['text-long'] },
  NeedsText: { warn: ['text-empty'] },
  StoresNoNullCharacter: { warn: ['text-null-character'] },
  StoresWholeCharacters: { warn: ['text-half-character'] },
  KnowsTwoStatuses: { warn: ['unknown-status'] },
  CastsToObjectId: { warn: ['record-id-form'], beside: /^property-names$/ },
  NeedsOwnAddress: { warn: ['same-email'] },
  NeedsData: { warn: ['data-missing'] },
  StoresShortIds: { warn: ['id-long'] },
  CutsIds: { fail: ['effect-similar-ids'] },
  ReadsDigitsOfIds: { fail: ['effect-similar-ids'] },
  ComparesIdsWithoutCase: { fail: ['effect-similar-ids'] },
  NeedsUtc: { warn: ['timestamp-offset'] },
  RefusesThePast: { warn: ['late-replay'] },
  RefusesTheFuture: { warn: ['timestamp-ahead'] },
}

const NAMES: Readonly<Record<keyof typeof names, Finding>> = {
  IgnoresUnknownRecords: { warn: ['effect-updated-before-created'] },
  KeysAnObjectByIds: { fail: ['effect-property-names'] },
  KeysAnObjectByModels: { fail: ['property-names'] },
  CallsMethodsOfRecords: { warn: ['field-names'] },
  TrimsIds: { warn: ['effect-similar-ids'] },
  StoresUuids: { fail: ['effect-similar-ids'] },
  HashesIdsAsJava: { fail: ['effect-similar-ids'] },
  TakesHyphensForUnderscores: { fail: ['effect-similar-ids'] },
  DropsHyphens: { fail: ['effect-similar-ids'] },
  DropsUnderscores: { fail: ['effect-similar-ids'] },
  NormalizesIds: { warn: ['effect-similar-ids'] },
  NamesFilesByIds: { warn: ['id-long', 'id-form'] },
  NamesFilesByEndsOfIds: { warn: ['id-long', 'effect-similar-ids'] },
}

const PARTS: Readonly<Record<keyof typeof parts, Finding>> = {
  SignsFirst64KiB: { fail: ['signature-large-body'] },
  SignsFirst16KiB: { fail: ['signature-large-body'] },
  ChecksNoLargeBodies: { fail: ['signature-large-body'] },
  NormalizesText: { fail: ['bytes-decomposed'], beside: /^signature-replaced-byte$/ },
}

/** Groups and checks that a fault with a record can affect. */
const OF_RECORDS = ['bytes', 'meaning', 'time', 'effect-each-event', 'effect-similar-ids', 'effect-one-record-at-once']

const FINDINGS: Readonly<Record<string, Finding>> = {
  ...SIGNATURES,
  ...DELIVERIES,
  ...EFFECTS,
  ...HEADS,
  ...LOSSES,
  ...TYPES,
  ...NAMES,
  ...PARTS,
  ...Object.fromEntries(Object.entries(RECORDS).map(([name, finding]) => [name, { ...finding, among: OF_RECORDS }])),
}
const RECEIVERS: Readonly<Record<string, new () => HandWritten>> = {
  ...signatures,
  ...deliveries,
  ...effects,
  ...heads,
  ...losses,
  ...types,
  ...names,
  ...parts,
  ...records,
}

/** Faulty receivers, each with the report that it must get. */
export const FAULTY: readonly (Finding & { readonly name: string; readonly Receiver: new () => HandWritten })[] =
  Object.entries(FINDINGS).map(([name, finding]) => ({ ...finding, name, Receiver: RECEIVERS[name] ?? HandWritten }))
