import { randomUUID } from 'node:crypto';
import { createCallers, serviceCaller } from '@parley/kernel/caller';
import { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import { rpcClient } from '@parley/rpc/client';
import { Client } from 'pg';
import { atOnce, type Figure, figure, median, oneByOne, quantile, tookMs } from './figures.ts';
import type { BenchOptions } from './processes.ts';

const clients = 16;

/**
 * Measures how many calls per second identity's ledger can reserve and settle over gRPC, for one tenant and for many. The requests are like
 * those of the agent service.
 */
export async function ledgerFigures(
  { rounds, short, say }: BenchOptions,
  address: string,
  meshKey: Uint8Array,
  tenantIds: number[],
): Promise<Figure[]> {
  const definition = IdentityServiceDefinition;
  const identity = rpcClient({ definition, unit: 'identity', address: () => address, callers: createCallers(meshKey) });
  await identity.start?.();

  async function reserveAndSettle(tenantId: number): Promise<void> {
    const callId = `bench.${randomUUID()}`;
    const options = { caller: serviceCaller('bench', tenantId, callId) };
    const provider = { providerId: 'HOSTED_SMALL_MODEL', modelId: 'bench', tokensIn: 20, tokensCached: 0 };
    const call = { callId, operation: 'bench', ...provider, tokensOut: 20, costUsdE8: 4n };
    await identity.calls.reserveSpend({ call: { ...call, tokensOut: 4_096, costUsdE8: 412n }, begins: true }, options);
    await identity.calls.settleSpend({ settlements: [{ call, estimated: false, served: true }] }, options);
  }

  async function perSecond(tenants: number[]): Promise<number> {
    const each = short ? 2 : 50;
    const begunAt = performance.now();
    await atOnce(clients, (index) => oneByOne(each, () => reserveAndSettle(tenants[index % tenants.length] ?? 0)));
    return (clients * each * 1_000) / (performance.now() - begunAt);
  }

  try {
    say(`the ledger, ${rounds} rounds`);
    const round = async () => ({ one: await perSecond(tenantIds.slice(0, 1)), many: await perSecond(tenantIds) });
    await round(); // warm-up
    const rates = await oneByOne(rounds, round);
    const name = `reserve and settle, ${clients} at once`;
    return [
      figure(`${name}, one tenant`, median(rates.map(({ one }) => one)), '/s'),
      figure(`${name}, ${tenantIds.length} tenants`, median(rates.map(({ many }) => many)), '/s'),
    ];
  } finally {
    await identity.stop?.();
  }
}

/** Measures how long a usage summary takes for a tenant with many calls. The calls are inserted directly into the ledger's table. */
export async function summaryFigures(
  { short, say }: BenchOptions,
  databaseUrl: string,
  tenantId: number,
  summary: () => Promise<unknown>,
): Promise<Figure[]> {
  const [calls, summaries] = short ? [100, 2] : [1_000_000, 200];
  say(`a summary over ${calls} calls`);
  await writeCalls(databaseUrl, tenantId, calls);
  const times = await oneByOne(summaries, () => tookMs(summary));
  const name = `apiUsageSummary over ${calls} calls`; // allow-name apiUsageSummary: the operation that is measured
  return [
    figure(`${name}, p50`, quantile(times, 0.5), 'ms'),
    figure(`${name}, p99`, quantile(times, 0.99), 'ms', { goal: 50 }),
  ];
}

async function writeCalls(connectionString: string, tenantId: number, calls: number): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    await client.query("SELECT set_config('parley.tenant', $1, false)", [String(tenantId)]);
    await client.query(
      `INSERT INTO identity.usage_calls (tenant_id, call_id, month, operation, provider_id, model_id, tokens_in, tokens_cached,
           tokens_out, cost_usd, estimated, served, lease_ended)
       SELECT $1, 'bench.' || n, date_trunc('month', now()), 'bench', 'HOSTED_SMALL_MODEL', 'bench', 20, 0, 20, 0.0001, false, true, false
         FROM generate_series(1, $2::int) AS n`,
      [tenantId, calls],
    );
  } finally {
    await client.end();
  }
}
