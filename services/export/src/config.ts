import { byteCount, positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';
import { portSettings } from '@parley/kernel/settings/shared-settings';
import { fallbackFile } from './fallback-document.ts';

export const exportSettings = {
  concurrency: setting(
    'EXPORT_CONCURRENCY',
    positiveInt.default(2),
    'Documents rendered at once in this process, other than small ones.',
  ),
  smallConcurrency: setting(
    'EXPORT_SMALL_CONCURRENCY',
    positiveInt.default(2),
    'Small documents rendered at once in this process, besides; each with at most 5 s of processor time and 384 MB. One that takes more is rendered among the others.',
  ),
  smallCharacters: setting(
    'EXPORT_SMALL_CHARACTERS',
    positiveInt.default(100_000),
    'Characters of the transcript up to which a document is small, an end of a line as 80 and a message as 200 more.',
  ),
  perTenant: setting(
    'EXPORT_PER_TENANT',
    positiveInt.default(1),
    'Documents of one tenant rendered at once, over all replicas, and as many small ones; its others wait.',
  ),
  leaseMs: setting(
    'EXPORT_LEASE_MS',
    positiveInt.default(30_000),
    'How long a process may be silent before another takes its documents.',
  ),
  timeoutMs: setting(
    'EXPORT_TIMEOUT_MS',
    positiveInt.default(15_000),
    'Processor time that rendering one document may take; by the clock ten times as much, on systems other than Linux as much. Then the attempt has failed.',
  ),
  maxMemoryMb: setting(
    'EXPORT_MAX_MEMORY_MB',
    positiveInt.min(192).default(768),
    'Memory of the process that renders a document; an attempt that takes more has failed. This unit needs as much for each that it renders at once.',
  ),
  maxCharacters: setting(
    'EXPORT_MAX_CHARACTERS',
    positiveInt.max(5_000_000).default(1_000_000),
    'Characters of the transcript that a document has, an end of a line as 80, about 4,000 to a page; of a longer one the first and the last half as many, and the document says how much it leaves out.',
  ),
  maxMessages: setting(
    'EXPORT_MAX_MESSAGES',
    positiveInt.max(50_000).default(10_000),
    'Messages that a document has at most, about 20 short ones to a page; likewise.',
  ),
  maxBytes: setting(
    'EXPORT_MAX_BYTES',
    positiveInt.max(200_000_000).default(50_000_000),
    'Size of a document; an attempt that makes a larger one has failed.',
  ),
  evaluationWaitMs: setting(
    'EXPORT_EVALUATION_WAIT_MS',
    positiveInt.default(20_000),
    'How long a document of an ended session waits for its evaluation; then it is rendered without.',
  ),
  waitingPerSession: setting(
    'EXPORT_WAITING_PER_SESSION',
    positiveInt.default(3),
    'Exports of one session that are not rendered yet; another request is refused.',
  ),
  waitingPerTenant: setting(
    'EXPORT_WAITING_PER_TENANT',
    positiveInt.default(200),
    'Exports of one tenant that are not rendered yet; another request is refused.',
  ),
  keptPerSession: setting(
    'EXPORT_KEPT_PER_SESSION',
    positiveInt.default(50),
    'Exports of one session that are kept; another request is refused until the oldest has been removed.',
  ),
  keptBytesPerTenant: setting(
    'EXPORT_KEPT_BYTES_PER_TENANT',
    byteCount.default(2_000_000_000),
    'Bytes of files that are kept for one tenant; beyond, exports are removed before their days are over: the oldest of the session that has most.',
  ),
  keptDays: setting(
    'EXPORT_KEPT_DAYS',
    positiveInt.min(8).max(3_650).default(30),
    'How long an export and its file are kept, from its request on; at least 8 days, because a link is valid for up to 7. A change reaches those that are there within 20 days.',
  ),
  fallback: setting(
    'EXPORT_FALLBACK_FILE',
    fallbackFile,
    'A PDF of at most 20 MB, read at start, that is offered in place of a document that could not be rendered (FALLBACK_READY).',
    { without: 'such an export is FAILED' },
  ),
  ...portSettings('export', ['rpc', 'ops']),
} satisfies Settings;

export type ExportConfig = ValuesOf<typeof exportSettings>;
