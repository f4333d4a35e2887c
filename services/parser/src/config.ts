import { positiveInt } from '@parley/kernel/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings';
import { portSettings } from '@parley/kernel/shared-settings';

export const parserSettings = {
  concurrency: setting('PARSER_CONCURRENCY', positiveInt.default(2), 'Documents parsed at once in this process.'),
  perTenant: setting(
    'PARSER_PER_TENANT',
    positiveInt.default(2),
    'Documents of one tenant parsed at once, over all replicas; its others wait.',
  ),
  leaseMs: setting(
    'PARSER_LEASE_MS',
    positiveInt.default(30_000),
    'How long a process may be silent before another takes its documents.',
  ),
  ...portSettings('parser', ['ops']),
} satisfies Settings;

export type ParserConfig = ValuesOf<typeof parserSettings>;
