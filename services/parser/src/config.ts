import { positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';
import { portSettings } from '@parley/kernel/settings/shared-settings';

export const parserSettings = {
  concurrency: setting('PARSER_CONCURRENCY', positiveInt.default(2), 'Documents parsed at once in this process.'),
  perTenant: setting(
    'PARSER_PER_TENANT',
    positiveInt.default(1),
    'Documents of one tenant parsed at once, over all replicas; its others wait.',
  ),
  leaseMs: setting(
    'PARSER_LEASE_MS',
    positiveInt.default(30_000),
    'How long a process may be silent before another takes its documents.',
  ),
  timeoutMs: setting(
    'PARSER_TIMEOUT_MS',
    positiveInt.default(60_000),
    'Processor time that reading one document may take; by the clock ten times as much, on systems other than Linux as much. Then it is FAILED.',
  ),
  maxMemoryMb: setting(
    'PARSER_MAX_MEMORY_MB',
    positiveInt.min(128).default(512),
    'Memory of the process that reads a document; a document that takes more is FAILED. This unit needs as much for each that it parses at once.',
  ),
  maxCharacters: setting(
    'PARSER_MAX_CHARACTERS',
    positiveInt.max(5_000_000).default(5_000_000),
    'Unicode characters that the text of a document may have; a longer one is FAILED.',
  ),
  maxInflatedBytes: setting(
    'PARSER_MAX_INFLATED_BYTES',
    positiveInt.default(256 * 2 ** 20),
    'Bytes that an office document may have when it is unpacked, as it declares and in fact; a larger one is FAILED.',
  ),
  maxPages: setting(
    'PARSER_MAX_PAGES',
    positiveInt.default(5_000),
    'Pages that a PDF may have; one with more is FAILED.',
  ),
  ...portSettings('parser', ['ops']),
} satisfies Settings;

export type ParserConfig = ValuesOf<typeof parserSettings>;
