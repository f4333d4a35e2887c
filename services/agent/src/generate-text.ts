import { randomUUID } from 'node:crypto';
import type { TenantCaller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import { accountOf, type DirectCall, directCall, directError, imageBytes } from './direct-call.ts';
import { generateOnce } from './generate-once.ts';
import type { GenerateTextInput, GenerateTextResultDto } from './generated/schema.ts';
import { meteredGenerate, type ServedAnswer } from './metered-chain.ts';
import type { Ports } from './ports.ts';

const operation = 'generateText'; // names generateText: what the ledger calls it

/** @param effectKey all calls with it get the answer of one */
export async function generateText(
  ports: Ports,
  caller: TenantCaller,
  input: GenerateTextInput,
  gone: AbortSignal,
  effectKey?: string,
): Promise<GenerateTextResultDto> {
  const call = directCall(ports, input);
  using _images = ports.images.hold(caller.tenantId, imageBytes(call.request));
  const answer =
    effectKey === undefined
      ? generateFor(ports, caller, call, gone)
      : generateOnce(ports, caller, call, { effectKey, operation, gone });
  const { text, spent } = await answer.catch((error: unknown) => {
    throw directError(error, call);
  });
  const { providerId, modelId, costUsdE8 } = spent;
  return { text, providerId, modelId, costUsd: Number(costUsdE8) / 1e8 };
}

async function generateFor(
  { metering }: Ports,
  caller: TenantCaller,
  { chain, request }: DirectCall,
  signal: AbortSignal,
): Promise<ServedAnswer> {
  const account = accountOf(caller, operation, randomUUID());
  try {
    return await meteredGenerate(metering, chain, request, { account, signal });
  } catch (error) {
    throw signal.aborted ? unavailable('The client has left', error) : error;
  }
}
