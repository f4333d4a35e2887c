import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Outcome } from '@parley/kernel/error-table';
import { localMesh } from '@parley/local';
import type { JobCount } from '@parley/postgres/jobs/count-jobs';
import type { JobFailure } from '@parley/postgres/jobs/runner-types';
import { migratedSnapshot } from '@parley/testing/test-database';
import { schemas, unitNames } from '@parley/units';
import { Histogram, type Metric, Registry } from 'prom-client';
import { root } from '../../root.ts';
import type { Exported } from './query-labels.ts';

/** Labels that Prometheus adds when it scrapes a process of the chart. */
const ofScrapes = ['namespace', 'pod', 'service', 'container', 'endpoint', 'instance', 'job'];

/** Starts all units in this process, and returns their metrics with labels. */
export async function exportedLabels(): Promise<Exported> {
  const registered = await registeredBy(startAndStop);
  const metrics = new Map<string, Map<string, Set<string>>>([['up', new Map([['', new Set(ofScrapes)]])]]);
  const jobKinds = new Set<string>();
  for (const { unit, metric } of registered) {
    const { name, labelNames } = metric as unknown as { name: string; labelNames: string[] };
    const labels = [...labelNames, ...ofScrapes, 'unit'];
    const add = (series: string, more: string[] = []) => {
      const byUnit = metrics.get(series) ?? new Map<string, Set<string>>();
      metrics.set(series, byUnit.set(unit, new Set([...labels, ...more])));
    };
    if (metric instanceof Histogram) {
      add(`${name}_bucket`, ['le']);
      add(`${name}_sum`);
      add(`${name}_count`);
    } else {
      add(name);
    }
    if (name === 'parley_job_failures_total')
      for (const { labels: given } of (await metric.get()).values) jobKinds.add(String(given['kind']));
  }
  const closed = closedSets(jobKinds);
  return {
    labelsOf: (metric) => metrics.get(metric),
    valuesOf(metric, label) {
      if (label === 'unit') return new Set(metrics.get(metric)?.keys());
      return closed[`${metric.replace(/_(?:bucket|sum|count)$/u, '')} ${label}`];
    },
  };
}

function closedSets(jobKinds: ReadonlySet<string>): Record<string, ReadonlySet<string>> {
  const outcomes = keysOf<Outcome>({ ok: true, refused: true, error: true });
  const contract: object = JSON.parse(readFileSync(join(root, 'gateway/contract.json'), 'utf8'));
  return {
    'parley_graph_duration_seconds outcome': outcomes,
    'parley_graph_duration_seconds operation': new Set(Object.keys(contract).map((field) => field.split('.')[1] ?? '')),
    'parley_action_call_duration_seconds error': keysOf<'CREDENTIAL_UNAVAILABLE'>({ CREDENTIAL_UNAVAILABLE: true }),
    'parley_rpc_duration_seconds outcome': outcomes,
    'parley_voice_request_seconds outcome': outcomes,
    'parley_voice_provider_seconds outcome': outcomes,
    'parley_session_sync_total outcome': keysOf<'delivered' | 'failed' | 'given_up'>({
      delivered: true,
      failed: true,
      given_up: true,
    }),
    'parley_job_failures_total kind': jobKinds,
    'parley_job_failures_total outcome': keysOf<JobFailure>({ retried: true, given_up: true }),
    'parley_jobs kind': jobKinds,
    'parley_jobs state': keysOf<JobCount['state']>({ waiting: true, running: true }),
  };
}

const keysOf = <Key extends string>(keys: Record<Key, true>): ReadonlySet<string> => new Set(Object.keys(keys));

async function startAndStop(): Promise<void> {
  const dataFolder = mkdtempSync(join(tmpdir(), 'parley-labels-'));
  const some = () => randomBytes(32).toString('base64');
  const env = {
    MESH_KEY: some(),
    OPERATOR_KEY: some(),
    SECRETS_KEYS: `k1:${some()}`,
    AVATAR_TOKEN_KEYS: `k1:${some()}`,
    GATEWAY_PORT: '0',
    VOICE_PORT: '0',
    STORAGE_PORT: '0',
  };
  try {
    const mesh = await localMesh(env, { dataFolder, databaseSnapshot: await migratedSnapshot(schemas) });
    await mesh.start();
    await mesh.stop();
  } finally {
    rmSync(dataFolder, { recursive: true, force: true });
  }
}

/** Returns the metrics that are registered during `work`, with the unit of their registry. */
async function registeredBy(work: () => Promise<void>): Promise<{ unit: string; metric: Metric }[]> {
  const registered: { registry: Registry; metric: Metric }[] = [];
  const { registerMetric } = Registry.prototype;
  Registry.prototype.registerMetric = function record(this: Registry, metric: Metric) {
    registered.push({ registry: this, metric });
    registerMetric.call(this, metric);
  };
  try {
    await work();
  } finally {
    Registry.prototype.registerMetric = registerMetric;
  }
  const unitOf = (registry: Registry) => {
    const { unit } = (registry as unknown as { _defaultLabels: { unit?: string } })._defaultLabels;
    return unit !== undefined && unitNames.includes(unit) ? unit : undefined;
  };
  return registered.flatMap(({ registry, metric }) => {
    const unit = unitOf(registry);
    return unit === undefined ? [] : [{ unit, metric }];
  });
}
