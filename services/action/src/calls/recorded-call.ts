import { SpanKind, trace } from '@opentelemetry/api';
import type { TenantCaller } from '@parley/kernel/caller';
import { inSpan } from '@parley/kernel/telemetry/telemetry';
import type { Ports } from '../ports.ts';
import { metered } from './call-meter.ts';
import { errorKindOf } from './error-kind.ts';
import type { NewOutboundCall } from './outbound-call.ts';
import { outboundCallStore } from './outbound-call-store.ts';

type Call = Pick<NewOutboundCall, 'kind' | 'target' | 'name'>;

/** The facts that are logged about a finished call. */
export type Outcome = Omit<NewOutboundCall, 'kind' | 'target' | 'name'>;

/** Makes a call in a trace span and measures it. @param errorOf returns the error kind of a failed result, null for a success */
export async function measuredCall<T>(
  call: Pick<Call, 'kind' | 'target'>,
  work: () => Promise<T>,
  errorOf: (value: T) => string | null,
): Promise<{ settled: PromiseSettledResult<T>; outcome: Outcome; hasCalled: boolean }> {
  const attributes = { 'parley.call.kind': call.kind, 'parley.call.target': call.target };
  const tracer = trace.getTracer('parley.action');
  return inSpan(tracer, `call ${call.kind.toLowerCase()}`, { kind: SpanKind.CLIENT, attributes }, (span) =>
    metered(async (meter) => {
      const startedAt = performance.now();
      const [settled] = await Promise.allSettled([work()]);
      const durationMs = Math.round(performance.now() - startedAt);
      const errorKind = settled.status === 'fulfilled' ? errorOf(settled.value) : errorKindOf(settled.reason);
      if (errorKind !== null) span.setAttribute('error.type', errorKind);
      const { status, bytes, requests } = meter;
      return { settled, outcome: { status, bytes, durationMs, errorKind }, hasCalled: requests > 0 };
    }),
  );
}

/** Makes a call outside any turn. Adds the call to the tenant's log, except if it succeeded without a request. */
export async function recordedCall<T>(
  ports: Pick<Ports, 'database' | 'metrics' | 'log'>,
  { tenantId }: TenantCaller,
  call: Call,
  work: () => Promise<T>,
): Promise<T> {
  const { settled, outcome, hasCalled } = await measuredCall(call, work, () => null);
  const isKept = settled.status === 'fulfilled' && !hasCalled;
  if (!isKept) {
    ports.metrics.over(call.kind, outcome.errorKind, outcome.durationMs);
    await note(ports, tenantId, { ...call, ...outcome });
  }
  if (settled.status === 'rejected') throw settled.reason;
  return settled.value;
}

/** Adds the call to the tenant's log. If this fails, the process logs a warning, and the call does not fail. */
async function note({ database, log }: Pick<Ports, 'database' | 'log'>, tenantId: number, call: NewOutboundCall) {
  await database
    .transact(tenantId, (db) => outboundCallStore(db).insert(call))
    .catch((err: unknown) => log.warn({ err }, 'outbound call not logged'));
}
