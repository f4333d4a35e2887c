import { byteCount, positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';
import { portSettings } from '@parley/kernel/settings/shared-settings';
import { fallbackFile } from './fallback-document.ts';

export const exportSettings = {
  concurrency: setting(
    'EXPORT_CONCURRENCY',
    positiveInt.default(2),
    'Maximum number of large documents that this process renders at once. A document is large if its transcript is above `EXPORT_SMALL_CHARACTERS`.',
  ),
  smallConcurrency: setting(
    'EXPORT_SMALL_CONCURRENCY',
    positiveInt.default(2),
    'Maximum number of small documents that this process renders at once, in addition to `EXPORT_CONCURRENCY`. Each may take 5 s of processor time and 384 MB; a document that takes more is rendered again as a large one.',
  ),
  smallCharacters: setting(
    'EXPORT_SMALL_CHARACTERS',
    positiveInt.default(100_000),
    'Maximum number of characters of the transcript of a small document. Each end of a line counts as 80 more, each message as 200 more.',
  ),
  perTenant: setting(
    'EXPORT_PER_TENANT',
    positiveInt.default(1),
    'Maximum number of large documents of one tenant that are rendered at once, over all replicas; further documents wait. Small documents of a tenant have a separate limit of the same number.',
  ),
  leaseMs: setting(
    'EXPORT_LEASE_MS',
    positiveInt.default(30_000),
    'Maximum time until another process with a free slot takes over the documents of a process that has died or no longer responds.',
  ),
  timeoutMs: setting(
    'EXPORT_TIMEOUT_MS',
    positiveInt.default(15_000),
    'Processor time that rendering one document may take; then the attempt has failed. On Linux the elapsed time may be ten times as long, on other systems only as long.',
  ),
  maxMemoryMb: setting(
    'EXPORT_MAX_MEMORY_MB',
    positiveInt.min(192).default(768),
    'Maximum memory of the process that renders one document; an attempt that takes more has failed. This unit needs as much memory for each document that is rendered at once.',
  ),
  maxCharacters: setting(
    'EXPORT_MAX_CHARACTERS',
    positiveInt.max(5_000_000).default(1_000_000),
    'Maximum number of characters of the transcript in a document; an end of a line counts as 80 more, and a page has about 4,000. Of a longer transcript, the document has the beginning and the end, each up to half of this limit, and the number of omitted messages.',
  ),
  maxMessages: setting(
    'EXPORT_MAX_MESSAGES',
    positiveInt.max(50_000).default(10_000),
    'Maximum number of messages of the transcript in a document; a page has about 20 short ones. Of a longer transcript, the document has the beginning and the end, each up to half of this limit, and the number of omitted messages.',
  ),
  maxBytes: setting(
    'EXPORT_MAX_BYTES',
    positiveInt.max(200_000_000).default(50_000_000),
    'Maximum size of the file of a document. If the file is larger, the document is rendered again with half of the transcript, until the file fits. If the file with a transcript under 1,000 characters is still too large, the document cannot be rendered (`EXPORT_FALLBACK_FILE`).',
  ),
  evaluationWaitMs: setting(
    'EXPORT_EVALUATION_WAIT_MS',
    positiveInt.default(20_000),
    'Maximum time that the document of an ended session waits for the evaluation of the session. Then it is rendered without the evaluation.',
  ),
  waitingPerSession: setting(
    'EXPORT_WAITING_PER_SESSION',
    positiveInt.default(3),
    'Maximum number of exports of one session that are not rendered yet; a further request is refused with `TOO_MANY_REQUESTS`.',
  ),
  waitingPerTenant: setting(
    'EXPORT_WAITING_PER_TENANT',
    positiveInt.default(200),
    'Maximum number of exports of one tenant that are not rendered yet; a further request is refused with `TOO_MANY_REQUESTS`.',
  ),
  keptPerSession: setting(
    'EXPORT_KEPT_PER_SESSION',
    positiveInt.default(50),
    'Maximum number of exports of one session that are kept; a further request is refused with `TOO_MANY_REQUESTS` until the oldest export has been removed.',
  ),
  keptBytesPerTenant: setting(
    'EXPORT_KEPT_BYTES_PER_TENANT',
    byteCount.default(2_000_000_000),
    'Maximum total size of the files that are kept for one tenant. Above this size, exports are removed before `EXPORT_KEPT_DAYS` have passed: those with the oldest file of the session with the most bytes.',
  ),
  keptDays: setting(
    'EXPORT_KEPT_DAYS',
    positiveInt.min(8).max(3_650).default(30),
    'Days for which an export and its file are kept after the request; at least 8, because a link is valid for up to 7 days. A new value applies to existing exports within 20 days.',
  ),
  fallback: setting(
    'EXPORT_FALLBACK_FILE',
    fallbackFile,
    'Path of a PDF of at most 20 MB, read at start. If a document cannot be rendered, the PDF is offered instead, and the export has the status FALLBACK_READY.',
    { without: 'an export whose document cannot be rendered is FAILED' },
  ),
  ...portSettings('export', ['rpc', 'ops']),
} satisfies Settings;

export type ExportConfig = ValuesOf<typeof exportSettings>;
