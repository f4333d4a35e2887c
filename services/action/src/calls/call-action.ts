import type { TenantRequest } from '@parley/kernel/caller-request';
import { notFound } from '@parley/kernel/errors';
import { customActionStore } from '../actions/custom-action-store.ts';
import { sendAction } from '../custom-actions/send-action.ts';
import { openCredential } from '../custom-actions/stored-credential.ts';
import type { Ports } from '../ports.ts';
import { callOnce, type MadeResult, type Making } from './call-once.ts';
import { callDeadline } from './call-queue.ts';
import { type CallRequest, callRequest, type GivenCall, idempotencyKeyOf } from './call-request.ts';
import type { CallResult } from './call-result.ts';
import { madeOfAction } from './made-result.ts';

export interface GivenActionCall extends GivenCall {
  linkedIdentities: { product: string; subject: string }[];
}

/** Calls a custom action. A failed call is returned as a result, not thrown. @throws DomainError `invalid` for a malformed request */
export async function callAction(ports: Ports, request: TenantRequest, given: GivenActionCall): Promise<CallResult> {
  const call = callRequest(given, ports.limits.callMs);
  const subjects = new Map(given.linkedIdentities.map(({ product, subject }) => [product, subject]));
  return callOnce(ports, request, call, (making) => send(ports, request, call, { subjects, ...making }));
}

interface Sending extends Making {
  subjects: Map<string, string>;
}

async function send(
  ports: Ports,
  { caller: { tenantId } }: TenantRequest,
  call: CallRequest,
  { subjects, signal, describe, keepSlot }: Sending,
): Promise<MadeResult> {
  const deadline = callDeadline(call.timeLimitMs);
  const id = call.ref.target;
  const [row] = await ports.database.read(tenantId, (db) => customActionStore(db).listSealed([id]));
  if (!row) throw notFound('Custom action', id);
  describe(row.name);
  const waiting = deadline.signalWith(signal);
  const end = await Promise.resolve(
    ports.queue.enter({ action: `${tenantId}/${id}`, tenant: tenantId }, () => waiting.signal),
  ).finally(waiting.end);
  keepSlot(end);
  const answer = await sendAction(ports.sending, row, {
    args: call.args,
    stored: row.credentialSealed ? openCredential(ports.box, row, row.credentialSealed) : undefined,
    linkedIdentity: async (product) => subjects.get(product),
    idempotencyKey: idempotencyKeyOf(tenantId, call),
    timeoutMs: deadline.leftMs(),
    signal,
  });
  return madeOfAction(answer);
}
