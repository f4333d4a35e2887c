import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { unavailable } from '@parley/kernel/errors';
import { parseJson } from '@parley/kernel/json';
import { backoff } from '@parley/kernel/timing/backoff';
import { whileUnavailable } from '@parley/kernel/timing/while-unavailable';
import type { Ports } from '../ports.ts';
import type { CallRequest } from './call-request.ts';
import { type CallResult, failedResult } from './call-result.ts';
import { cancelled, errorKindOf, errorMessageOf } from './error-kind.ts';
import { interruptCall, isAbandoned } from './interrupt-call.ts';
import { outboundCallStore } from './outbound-call-store.ts';
import { measuredCall } from './recorded-call.ts';
import { callPlace, openedResult, sealedResult } from './sealed-call.ts';
import { callName, type StoredCall, turnCallStore } from './turn-call-store.ts';

/** A result without its duration. */
export type MadeResult = Omit<CallResult, 'durationMs'>;

export interface Making {
  signal: AbortSignal;
  describe(name: string): void;
  /**
   * Keeps the call's queue slot until the result is stored, so that unstored results never exceed the number of slots.
   */
  keepSlot(release: () => void): void;
}

/** Sends a call. @throws DomainError that becomes a failed result */
export type MakeCall = (making: Making) => Promise<MadeResult>;

/**
 * Makes a call of a conversation's turn at most once. The call is committed as begun before anything is sent; a
 * repeated request gets the first call's result and sends nothing. Aborting the request cancels the call.
 */
export async function callOnce(
  ports: Ports,
  request: TenantRequest,
  call: CallRequest,
  make: MakeCall,
): Promise<CallResult> {
  const made = await ports.process.holding(async () => {
    const endMaking = ports.process.making(callName(request.caller.tenantId, call));
    try {
      if (!(await begin(ports, request, call))) return undefined;
      return await ports.held.holding(request.caller.tenantId, () => makeCall(ports, request, call, make));
    } finally {
      endMaking();
    }
  });
  return made ?? resultOf(ports, request, call);
}

/**
 * How long to retry the first commit while the database is unavailable, in ms. A retry recognizes a commit whose
 * acknowledgement was lost.
 */
const beginMs = 2_000;

async function begin(
  { database, box, process, beginQueue }: Ports,
  { caller, signal }: TenantRequest,
  call: CallRequest,
) {
  const { tenantId } = caller;
  const place = { tenantId, turn: call.turn, call: call.call };
  const sealed = {
    noteSealed: box.seal(call.note, callPlace('note', place)),
    argumentsSealed: box.seal(call.argumentsJson, callPlace('arguments', place)),
  };
  signal.throwIfAborted();
  const until = performance.now() + beginMs;
  return whileUnavailable(
    () =>
      beginQueue(
        tenantId,
        () => database.transact(tenantId, (db) => turnCallStore(db).begin(call, process.id, sealed)),
        signal,
      ),
    200,
    () => !signal.aborted && performance.now() < until,
  );
}

async function makeCall(ports: Ports, { caller, signal }: TenantRequest, call: CallRequest, make: MakeCall) {
  const { kind, target, toolName } = call.ref;
  let name = toolName ?? '';
  const describe = (given: string) => {
    name = given;
  };
  let releaseSlot = () => {};
  const keepSlot = (release: () => void) => {
    releaseSlot = release;
  };
  const { settled, outcome } = await measuredCall(
    { kind, target },
    () => make({ signal, describe, keepSlot }),
    ({ errorKind }) => errorKind,
  );
  const { durationMs } = outcome;
  const failed = settled.status === 'rejected';
  if (failed && errorKindOf(settled.reason, signal) === 'CALL_FAILED')
    ports.log.warn({ err: settled.reason, kind, target }, 'outbound call failed');
  const result = failed ? failure(settled.reason, signal, durationMs) : { ...settled.value, durationMs };
  ports.metrics.over(kind, result.errorKind, durationMs);
  const { agentId, sessionId } = call;
  const entry = { ...outcome, kind, target, name, errorKind: result.errorKind, agentId, sessionId };
  return end(ports, caller.tenantId, call, result, entry).finally(releaseSlot);
}

function failure(error: unknown, signal: AbortSignal, durationMs: number): CallResult {
  const kind = errorKindOf(error, signal);
  return failedResult(kind, errorMessageOf(error, kind), durationMs);
}

/**
 * How long the request waits for its result to be stored while the database is unavailable, in ms. After this time, the request fails, and
 * the result is stored in the background.
 */
const storeMs = 10_000;

/**
 * Stores the result and its log entry, even after the request has failed.
 * @returns the stored result, which differs from `result` if another process has already marked the call as interrupted
 */
async function end(
  ports: Ports,
  tenantId: number,
  call: CallRequest,
  result: CallResult,
  entry: Parameters<ReturnType<typeof outboundCallStore>['insert']>[0],
): Promise<CallResult> {
  const { database, box, limits } = ports;
  const place = { tenantId, turn: call.turn, call: call.call };
  const until = performance.now() + storeMs;
  const store = () =>
    database.transact(
      tenantId,
      async (db) => {
        const store = turnCallStore(db);
        const isKept = isShort(result) || (await store.keptBytes()) < limits.keptBytes;
        const kept = isKept ? result : { ...result, body: null, truncated: true };
        const isStored = await store.end(call, sealedResult(box, place, kept));
        if (isStored) await outboundCallStore(db).insert(entry);
        return isStored;
      },
      // The transactions are queued, because each waits for the lock on the tenant's byte count and would hold a connection meanwhile.
      { lockQueue: { row: `kept bytes of ${tenantId}` } },
    );
  let isMine: boolean;
  try {
    isMine = await whileUnavailable(store, 200, () => performance.now() < until);
  } catch (error) {
    ports.process.storeLater(callName(tenantId, call), store);
    throw error;
  }
  return isMine ? result : ((await stored(ports, tenantId, call)) ?? result);
}

/** Results up to this size are stored even when the tenant's limit is reached. */
const shortLength = 4_096;

function isShort({ body }: CallResult): boolean {
  return (body?.text.length ?? 0) <= shortLength;
}

async function stored({ database, box }: Ports, tenantId: number, call: CallRequest): Promise<CallResult | undefined> {
  const found = await database.read(tenantId, (db) => turnCallStore(db).find(call));
  return found?.resultSealed ? openedResult(box, { tenantId, ...found }, found.resultSealed) : undefined;
}

const pause = backoff({ firstMs: 50, maxMs: 1_000 });

/** Waits for a call that a live process runs, up to the call's time limit. */
async function resultOf(ports: Ports, { caller, signal }: TenantRequest, call: CallRequest): Promise<CallResult> {
  const { database, box } = ports;
  const { tenantId } = caller;
  const until = performance.now() + call.timeLimitMs + storeMs;
  for (let tries = 1; !signal.aborted; tries += 1) {
    const found = await database.read(tenantId, (db) => turnCallStore(db).find(call));
    if (!found) throw unavailable('The call is no longer known'); // deleted by the sweep or with its tenant
    if (isAbandoned(ports, tenantId, found)) return interruptCall(ports, tenantId, found);
    if (!isSame(ports, tenantId, found, call)) return failedResult('CALL_INTERRUPTED', anotherCall);
    if (found.resultSealed) return openedResult(box, { tenantId, ...found }, found.resultSealed);
    if (performance.now() > until) throw unavailable('The call still runs');
    await delay(pause(tries), undefined, { signal }).catch(() => undefined);
  }
  return failedResult('CALL_CANCELLED', cancelled);
}

const anotherCall = 'Another call was begun in place of this one, which was not sent';

function isSame({ box }: Ports, tenantId: number, found: StoredCall, { ref, args }: CallRequest): boolean {
  const { kind, target, toolName } = found;
  if (!isDeepStrictEqual({ kind, target, toolName }, { ...ref })) return false;
  const begun = openedArguments(box, { tenantId, ...found });
  return begun === undefined || isDeepStrictEqual(begun, args);
}

/**
 * Returns the decrypted arguments. Undefined if the key that sealed them is no longer in the ring; the arguments then cannot be compared.
 */
function openedArguments(box: Ports['box'], found: StoredCall & { tenantId: number }): unknown {
  try {
    return parseJson(box.open(found.argumentsSealed, callPlace('arguments', found)).toString());
  } catch {
    return undefined;
  }
}
