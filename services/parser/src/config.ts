import { positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';
import { portSettings } from '@parley/kernel/settings/shared-settings';

export const parserSettings = {
  concurrency: setting(
    'PARSER_CONCURRENCY',
    positiveInt.default(2),
    'Maximum number of documents that one process parses at once.',
  ),
  perTenant: setting(
    'PARSER_PER_TENANT',
    positiveInt.default(1),
    'Maximum number of documents of one tenant that are parsed at once, over all replicas. Further documents of the tenant wait.',
  ),
  leaseMs: setting(
    'PARSER_LEASE_MS',
    positiveInt.default(30_000),
    'Maximum time until another process with a free slot takes over the documents of a process that has died or no longer responds.',
  ),
  timeoutMs: setting(
    'PARSER_TIMEOUT_MS',
    positiveInt.default(60_000),
    'Maximum processor time for reading one document. The elapsed time may be ten times as long, or equally long on systems other than Linux. A document that takes longer becomes FAILED.',
  ),
  maxMemoryMb: setting(
    'PARSER_MAX_MEMORY_MB',
    positiveInt.min(128).default(512),
    'Maximum memory of the process that reads a document. A document that needs more becomes FAILED. This unit needs that much memory for each document that it parses at once (`PARSER_CONCURRENCY`).',
  ),
  maxCharacters: setting(
    'PARSER_MAX_CHARACTERS',
    positiveInt.max(5_000_000).default(5_000_000),
    'Maximum number of Unicode characters in the text of a document. A document with a longer text becomes FAILED.',
  ),
  maxInflatedBytes: setting(
    'PARSER_MAX_INFLATED_BYTES',
    positiveInt.default(256 * 2 ** 20),
    'Maximum size of an unpacked office document, both the size that the file declares and the real size. A larger document becomes FAILED.',
  ),
  maxPages: setting(
    'PARSER_MAX_PAGES',
    positiveInt.default(5_000),
    'Maximum number of pages of a PDF. A PDF with more pages becomes FAILED.',
  ),
  ...portSettings('parser', ['ops']),
} satisfies Settings;

export type ParserConfig = ValuesOf<typeof parserSettings>;
