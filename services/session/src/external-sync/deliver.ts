import { randomUUID } from 'node:crypto';
import { pathProblem } from '@parley/json-path/json-path';
import type { Mapping } from '@parley/json-path/mapping';
import { MappingError } from '@parley/json-path/payload-mapper';
import { serviceRequest, type TenantRequest } from '@parley/kernel/caller-request';
import { isDomainError } from '@parley/kernel/errors';
import { backoff } from '@parley/kernel/timing/backoff';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import type { JobRun } from '@parley/postgres/jobs/job-types';
import type { GetExternalSyncResponse } from '@parley/protos/parley/agent/v1/agent';
import { findTenant } from '@parley/service/tenant-facts';
import type { SessionConfig } from '../config.ts';
import type { Ports } from '../ports.ts';
import { sessionStore } from '../session-store.ts';
import { payloadOf } from './payload.ts';
import { type Failure, sendWebhook, type Webhook } from './send-webhook.ts';
import { webhookKey } from './sign-webhook.ts';
import { syncDeliveryStore } from './sync-delivery-store.ts';
import { type SyncJob, syncKind } from './sync-job.ts';

/** Interval in ms at which a waiting delivery checks whether its tenant is still suspended. */
const suspendedRetryMs = 30_000;

/** The longest pause, in ms, between two attempts of a delivery. It also limits the pause that a receiver asks for. */
const longestPauseMs = 2 * 60 * 60_000;

export function syncJob(ports: Ports, { sync, settings: { leaseMs }, stopGraceMs }: SessionConfig): JobDeclaration {
  return job<SyncJob>({
    kind: syncKind,
    gauge: { name: 'parley_session_sync_running', help: 'Evaluations that are just being posted' },
    concurrency: sync.atOnce,
    perTenantLimit: sync.perTenant,
    // If a service that is needed is unavailable, the job is retried without an attempt being counted. Only failed attempts end the
    // delivery.
    retry: 'untilDone',
    leaseMs,
    stopGraceMs,
    handler: (run) => deliver(ports, run),
  });
}

/**
 * Makes one attempt to deliver an evaluation. If the attempt fails, the job runs again later, unless the failure is final or the time for
 * retries is over.
 */
async function deliver(ports: Ports, run: JobRun<SyncJob>): Promise<void> {
  const { data, tenantId, signal, lease } = run;
  const request = serviceRequest('session', tenantId, `sync-${data.sessionId}`, signal);
  const tenant = await findTenant(ports.identity, request.caller, signal);
  if (!tenant) return;
  if (tenant.suspended) return run.retryLater(data, suspendedRetryMs);

  const target = await ports.agent.getExternalSync({ agentId: data.agentId }, { ...request });
  const prepared = await prepare(ports, request, data, target);
  const begun = await begin(ports, tenantId, data, target);
  if (!begun) return;
  const outcome =
    'kind' in prepared
      ? prepared
      : await sendWebhook(ports.sync, { ...prepared, url: target.url, id: begun.webhookId, signal });
  ports.sync.count(outcome.kind === 'delivered' ? 'delivered' : 'failed');

  await ports.database.transact(tenantId, async (db) => {
    const store = syncDeliveryStore(db);
    const { kept } = ports.sync.settings;
    if (!(await store.findOf(data.sessionId))) return lease.complete(db); // the delivery was deleted with its tenant
    if (outcome.kind === 'delivered') {
      await store.finish(begun.id, 'DELIVERED', kept);
      return lease.complete(db);
    }
    const { failures, leftMs } = await store.countFailure(begun.id, outcome.error);
    if (outcome.isFinal || leftMs <= 0) {
      await store.finish(begun.id, 'FAILED', kept);
      db.afterCommit(() => ports.sync.count('given_up'));
      return lease.complete(db);
    }
    const delayMs = Math.ceil(Math.min(pauseMs(ports, failures, outcome), leftMs));
    await store.waitFor(begun.id, delayMs);
    return run.retryLater(data, delayMs, db);
  });
}

/** Begins an attempt: counts it, and creates the delivery if it is the first. @returns undefined if there is nothing to post */
function begin({ database, sync }: Ports, tenantId: number, data: SyncJob, { url }: GetExternalSyncResponse) {
  return database.transact(tenantId, async (db) => {
    const store = syncDeliveryStore(db);
    // If the agent has no URL, no delivery is created. If the URL was removed after the delivery was created, the attempt fails with
    // `URL_MISSING`.
    const found = url === '' ? await store.findOf(data.sessionId) : undefined;
    const delivery = url === '' ? found : await store.ensure(data, `msg_${randomUUID()}`, sync.settings.giveUpMs);
    if (delivery?.status !== 'PENDING') return undefined;
    await store.countAttempt(delivery.id);
    return delivery;
  });
}

function pauseMs({ sync }: Ports, failures: number, { retryAfterMs = 0 }: Failure): number {
  const { firstRetryMs } = sync.settings;
  const pause = backoff({ firstMs: firstRetryMs, maxMs: longestPauseMs, jitter: true });
  // By default, each pause is about four times as long as the one before: 5 s, 20 s, 80 s, 5 min, 21 min, 85 min, then always 2 h.
  return Math.min(longestPauseMs, Math.max(pause(2 * failures - 1), retryAfterMs));
}

/**
 * Prepares a webhook with the current secret and mapping. Rejects if another service is unavailable; a rejection does not count as an
 * attempt.
 */
async function prepare(
  ports: Ports,
  request: TenantRequest,
  data: SyncJob,
  target: GetExternalSyncResponse,
): Promise<Failure | Pick<Webhook, 'body' | 'key'>> {
  if (target.url === '') return { kind: 'failed', error: 'URL_MISSING', isFinal: true };
  const key = await keyOf(ports, request, target.secretRef);
  if (typeof key === 'string') return { kind: 'failed', error: key };
  const body = await bodyOf(ports, request, data, target);
  if ('error' in body) return { kind: 'failed', error: body.error };
  return { body: body.json, key };
}

/**
 * Finds the key to sign with.
 * @returns the key, or an error kind if the secret is missing or unusable
 */
async function keyOf({ identity }: Ports, { caller, signal }: TenantRequest, name: string): Promise<Buffer | string> {
  if (name === '') return 'SECRET_MISSING';
  try {
    const { value } = await identity.getTenantSecret({ name }, { caller, signal, expectedErrors: ['notFound'] });
    return webhookKey(value) ?? 'SECRET_UNUSABLE';
  } catch (error) {
    if (isDomainError(error, 'notFound')) return 'SECRET_MISSING';
    throw error;
  }
}

async function bodyOf(
  ports: Ports,
  { caller, signal }: TenantRequest,
  { sessionId }: SyncJob,
  { ownerId, schemaConfigJson }: GetExternalSyncResponse,
): Promise<{ json: string } | { error: string }> {
  const { tenantId } = caller;
  const [session, { evaluation }] = await Promise.all([
    ports.database.transact(tenantId, (db) => sessionStore(db).get(sessionId)),
    ports.evaluation.getEvaluation({ sessionId, maxTranscriptBytes: 0n }, { caller, signal }),
  ]);
  if (!evaluation) throw new Error('The evaluation that was published is not there');
  const payload = payloadOf(session, evaluation, ownerId);
  if (schemaConfigJson === '') return { json: JSON.stringify(payload) };
  const mapping = JSON.parse(schemaConfigJson) as Mapping;
  // The mapping may contain an invalid path, because paths were not always validated when a mapping was saved.
  if (Object.values(mapping).some((path) => pathProblem(path) !== undefined)) return { error: 'MAPPING_INVALID' };
  try {
    return { json: await ports.sync.mapper.map({ mapping, payload }, { tenantId, signal }) };
  } catch (error) {
    if (error instanceof MappingError) return { error: error.problem };
    throw error;
  }
}
