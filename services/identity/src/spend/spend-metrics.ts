import type { Metrics } from '@parley/kernel/telemetry/metrics';
import type { Ports } from '../ports.ts';
import { platformStore } from './platform-store.ts';

type Ceiling = Pick<Ports['settings'], 'platformMonthlyCeilingUsd'>;

/** Gauges of the platform's monthly spend and ceiling, so that operators can react before calls are refused. */
export function spendMetrics(
  { database, settings }: Pick<Ports, 'database'> & { settings: Ceiling },
  metrics: Metrics,
): void {
  metrics.gauge(
    'parley_spend_month_usd',
    'Spend of all tenants on models this month (UTC), reserved included, in USD',
    () => database.transactShared((db) => platformStore(db).monthlySpendUsd()),
  );
  const ceilingUsd = settings.platformMonthlyCeilingUsd ?? Number.POSITIVE_INFINITY;
  metrics.gauge('parley_spend_ceiling_usd', 'PLATFORM_MONTHLY_CEILING_USD; +Inf without it', () => ceilingUsd);
}
