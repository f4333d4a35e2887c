import { randomUUID } from 'node:crypto';
import type { TenantCaller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import { accountOf, directCall, directError, imageBytes } from './direct-call.ts';
import type { GenerateTextInput, GenerateTextResultDto } from './generated/schema.ts';
import { meteredGenerate } from './metered-chain.ts';
import type { Ports } from './ports.ts';

export async function generateText(
  ports: Ports,
  caller: TenantCaller,
  input: GenerateTextInput,
  signal: AbortSignal,
): Promise<GenerateTextResultDto> {
  const { chain, request } = directCall(ports, input);
  const account = accountOf(caller, 'generateText', randomUUID()); // names generateText: what the ledger calls it
  using _images = ports.images.hold(caller.tenantId, imageBytes(request));
  try {
    const { text, model, costUsdE8 } = await meteredGenerate(ports.metering, chain, request, { account, signal });
    return { text, providerId: model.providerId, modelId: model.modelId, costUsd: Number(costUsdE8) / 1e8 };
  } catch (error) {
    throw signal.aborted ? unavailable('The client has left', error) : directError(error);
  }
}
