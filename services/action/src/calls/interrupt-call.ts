import type { Ports } from '../ports.ts';
import { type CallResult, failedResult } from './call-result.ts';
import { interrupted } from './error-kind.ts';
import { outboundCallStore } from './outbound-call-store.ts';
import { openedResult, sealedResult } from './sealed-call.ts';
import { callName, type StoredCall, turnCallStore } from './turn-call-store.ts';

/** Reports whether a call has no result and no process runs it. */
export function isAbandoned({ process }: Pick<Ports, 'process'>, tenantId: number, call: StoredCall): boolean {
  return call.resultSealed === null && (call.isLapsed || process.hasLost(callName(tenantId, call), call.processId));
}

/**
 * Marks an abandoned call as interrupted.
 * @returns the stored result: the interruption, or the result that the call's own process has stored in the meantime
 */
export async function interruptCall(
  { database, box, metrics }: Pick<Ports, 'database' | 'box' | 'metrics'>,
  tenantId: number,
  call: StoredCall,
): Promise<CallResult> {
  const { kind, target, toolName, agentId, sessionId, ageMs: durationMs } = call;
  const result = failedResult('CALL_INTERRUPTED', interrupted, durationMs);
  const { errorKind } = result;
  const entry = {
    kind,
    target,
    name: toolName ?? '',
    status: null,
    durationMs,
    bytes: 0,
    errorKind,
    agentId,
    sessionId,
  };
  const found = await database.transact(tenantId, async (db) => {
    const store = turnCallStore(db);
    if (!(await store.end(call, sealedResult(box, { tenantId, ...call }, result)))) return store.find(call);
    await outboundCallStore(db).insert(entry);
    return undefined;
  });
  if (found?.resultSealed) return openedResult(box, { tenantId, ...call }, found.resultSealed);
  metrics.over(kind, errorKind, durationMs);
  return result;
}
