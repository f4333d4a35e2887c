import type { Part } from '@parley/kernel/processes/unit';
import type { Logger } from '@parley/kernel/telemetry/log';
import { repeated } from '@parley/kernel/timing/repeated';
import type { SharedDb } from '@parley/postgres/database/types';
import type { Ports } from '../ports.ts';
import { idempotencyStore } from './idempotency-store.ts';
import { holderOf, idempotencyUsageStore } from './idempotency-usage-store.ts';

const sweptAtOnce = 100;

/** Deletes all expired keys, in small batches. Many replicas may do so at the same time. */
export async function sweepIdempotencyKeys(
  { database }: Pick<Ports, 'database'>,
  isStopping = () => false,
): Promise<void> {
  let swept: number;
  do swept = await database.transactShared(sweepSome);
  while (swept === sweptAtOnce && !isStopping());
}

async function sweepSome(db: SharedDb): Promise<number> {
  const usage = idempotencyUsageStore(db);
  const removed = await idempotencyStore(db).removeExpired(sweptAtOnce);
  const bytes = new Map<string, number>();
  for (const key of removed) bytes.set(holderOf(key), (bytes.get(holderOf(key)) ?? 0) + key.countedBytes);
  for (const [holder, freed] of [...bytes].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    await usage.subtract(holder, freed);
  }
  return removed.length;
}

export function idempotencyKeySweep(ports: Pick<Ports, 'database'>, log: Pick<Logger, 'warn'>): Part {
  const failure = 'expired idempotency keys not deleted; will retry';
  const options = { name: 'sweep of idempotency keys', pauseMs: 60_000, failure, log };
  return repeated(options, (stopping) => sweepIdempotencyKeys(ports, () => stopping.aborted));
}
