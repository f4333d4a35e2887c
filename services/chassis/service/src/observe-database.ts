import type { Metrics } from '@parley/kernel/telemetry/metrics';
import type { Database } from '@parley/postgres/database/types';
import { countJobs } from '@parley/postgres/jobs/count-jobs';

/** Declares the metrics of a service's connection pool, and of its jobs if it has any. */
export function observeDatabase(database: Database, jobKinds: string[], metrics: Metrics): void {
  metrics.gauge(
    'parley_database_connections_used',
    'Connections of the pool in use',
    () => database.connections().used,
  );
  metrics.gauge(
    'parley_database_transactions_waiting',
    'Transactions that wait for a connection of the pool',
    () => database.connections().waiting,
  );
  if (jobKinds.length === 0) return;
  const help = 'Jobs that are due, of all processes and tenants, by kind and whether they wait or run; 10,000 at most';
  metrics.gauges('parley_jobs', help, ['kind', 'state'], async () =>
    (await countJobs(database, jobKinds)).map(({ kind, state, count }) => ({ labels: { kind, state }, value: count })),
  );
}
