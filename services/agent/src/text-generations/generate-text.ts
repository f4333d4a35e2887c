import { randomUUID } from 'node:crypto';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { unavailable } from '@parley/kernel/errors';
import type { GenerateTextInput, GenerateTextResultDto } from '../generated/schema.ts';
import { meteredGenerate, type ServedAnswer } from '../metering/metered-chain.ts';
import type { Ports } from '../ports.ts';
import { accountOf, type DirectCall, directCall, directError, imageBytes } from './direct-call.ts';
import { shownReason } from './finish-reason.ts';
import { generateOnce } from './generate-once.ts';

const operation = 'generateText'; // allow-name generateText: the operation's name in the ledger

/** Generates a text. Calls with the same effect key share one generation. */
export async function generateText(
  ports: Ports,
  request: TenantRequest,
  input: GenerateTextInput,
): Promise<GenerateTextResultDto> {
  const call = directCall(ports, input);
  using _images = ports.images.hold(request.caller.tenantId, imageBytes(call.request));
  const { effectKey } = request;
  const answer =
    effectKey === undefined
      ? generateFor(ports, request, call)
      : generateOnce(ports, { ...request, effectKey }, { ...call, operation });
  const { text, spent, finishReason } = await answer.catch((error: unknown) => {
    throw directError(error, call);
  });
  const { providerId, modelId, costUsdE8 } = spent;
  return { text, providerId, modelId, costUsd: Number(costUsdE8) / 1e8, finishReason: shownReason(finishReason) };
}

async function generateFor(
  { metering }: Ports,
  { caller, signal }: TenantRequest,
  { chain, request }: DirectCall,
): Promise<ServedAnswer> {
  const account = accountOf(caller, operation, randomUUID());
  try {
    return await meteredGenerate(metering, chain, request, { account, signal });
  } catch (error) {
    throw signal.aborted ? unavailable('The client has left', error) : error;
  }
}
