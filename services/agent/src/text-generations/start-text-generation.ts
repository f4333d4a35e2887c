import { randomUUID } from 'node:crypto';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { unavailable } from '@parley/kernel/errors';
import { committedUnder, onceUnder } from '@parley/postgres/committed-keys';
import type { TenantDb } from '@parley/postgres/database/types';
import { jobs } from '@parley/postgres/jobs/jobs';
import type { GenerateTextInput } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { accountOf, directCall, imageBytes } from './direct-call.ts';
import { type TextGenerationJob, textGenerationKind } from './text-generation-job.ts';
import { textGenerationStore } from './text-generation-store.ts';

/**
 * Reserves the cost of a call against the spending cap and returns; a job then asks the model. If the effect key was already used, returns
 * the generation of that key.
 */
export async function startTextGeneration(
  ports: Ports,
  request: TenantRequest,
  input: GenerateTextInput,
): Promise<{ requestId: string }> {
  const { database, metering, admittedGenerations } = ports;
  const { caller } = request;
  const { chain, request: modelRequest } = directCall(ports, input);
  // The key is checked before the cap: a retry gets the first result, although the cap may have been reached since.
  const started = await committedUnder(database, request);
  if (started !== undefined) return { requestId: started };
  const requestId = randomUUID();
  const account = accountOf(caller, 'startTextGeneration', requestId); // allow-name startTextGeneration: the operation's name in the ledger
  using held = new DisposableStack();
  held.use(ports.generations.hold(caller.tenantId, 1));
  held.use(ports.images.hold(caller.tenantId, imageBytes(modelRequest)));
  const reserved = metering.meter.open(account);
  await reserved.reserve(metering.costs.upperEstimate(chain, modelRequest), false);
  const admitted = { chain, request: modelRequest, account, reserved, held: held.move() };
  admittedGenerations.set(requestId, admitted);

  async function start(db: TenantDb): Promise<string> {
    await textGenerationStore(db).insert(requestId);
    const data: TextGenerationJob = { requestId };
    const { claimed } = await jobs(db).append({ kind: textGenerationKind, key: requestId, data });
    if (!claimed) throw unavailable('Text generations cannot be started here now');
    return requestId;
  }

  function giveBack(): void {
    admittedGenerations.delete(requestId);
    admitted.held.dispose();
    const nothing = metering.costs.costOf(chain.first, { tokensIn: 0, tokensCached: 0, tokensOut: 0 });
    void reserved.settle({ ...nothing, estimated: false, served: false });
  }

  try {
    const committed = await database.transact(caller.tenantId, (db) => onceUnder(db, request, () => start(db)));
    if (committed !== requestId) giveBack();
    return { requestId: committed };
  } catch (error) {
    giveBack();
    throw error;
  }
}
