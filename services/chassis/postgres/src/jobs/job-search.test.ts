import { unavailable } from '@parley/kernel/errors';
import { createLogger } from '@parley/kernel/telemetry/log';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import type { Database } from '../database/types.ts';
import { jobSearch } from './job-search.ts';

test('a failed search is soon repeated, however long the interval of searches is', async (t) => {
  let searches = 0;
  const database: Pick<Database, 'transactShared'> = {
    transactShared: () => {
      searches += 1;
      return Promise.reject(unavailable('The database is not available'));
    },
  };
  const search = jobSearch({
    database: database as Database,
    kind: 'any',
    claim: { owner: 'any', leaseMs: 30_000 },
    perTenantLimit: undefined,
    maxAttempts: 3,
    intervalMs: 3_600_000,
    capacity: () => 1,
    reserveSlots: () => undefined,
    begin: () => undefined,
    exhausted: () => undefined,
    log: createLogger('test', { LOG_LEVEL: 'silent' }),
  });
  t.teardown(() => search.stop());

  search.start();

  await eventually('it searches again', () => searches > 1);
  t.pass();
});
