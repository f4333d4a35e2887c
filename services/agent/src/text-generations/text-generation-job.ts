import { internalMessage } from '@parley/kernel/error-table';
import { isDomainError } from '@parley/kernel/errors';
import { withRequestId } from '@parley/kernel/telemetry/request-context';
import { chunkWriter } from '@parley/live/subscriptions/chunk-writer';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import type { JobRun } from '@parley/postgres/jobs/job-types';
import { meteredStream } from '../metering/metered-chain.ts';
import { ModelError } from '../models/model-error.ts';
import type { Ports } from '../ports.ts';
import { shownReason } from './finish-reason.ts';
import { textGenerationLog } from './text-generation-log.ts';

export interface TextGenerationJob {
  requestId: string;
}

export const textGenerationKind = 'agent.text-generation';

const lost = 'The generation was lost; start it again';

/** Runs an admitted generation. This is a job, so that another process publishes the final event if this process dies. */
export function textGenerationJob(ports: Ports): JobDeclaration {
  return job<TextGenerationJob>({
    kind: textGenerationKind,
    gauge: { name: 'parley_agent_text_generations_running', help: 'Text generations that this process runs' },
    // The limit is far above the number of model slots, because jobs wait here for a slot.
    concurrency: 2_000,
    perTenantLimit: { unlimitedBecause: 'what a tenant has under way is bounded before it is appended' },
    retry: { maxAttempts: 10 },
    stopGraceMs: 1_000,
    handler: (run) => runTextGeneration(ports, run),
  });
}

async function runTextGeneration(
  ports: Ports,
  { data: { requestId }, tenantId, signal }: JobRun<TextGenerationJob>,
): Promise<void> {
  const log = textGenerationLog(ports.eventLog, { tenantId, requestId }, ports.log);
  const admitted = ports.admittedGenerations.get(requestId);
  ports.admittedGenerations.delete(requestId);
  if (!admitted) {
    if (!(await log.hasEnded())) await log.end({ providerId: '', modelId: '', error: lost, finishReason: '' });
    return;
  }
  const { chain, request, account, reserved, held } = admitted;
  using _held = held;
  await withRequestId(account.requestId, async () => {
    const chunks = chunkWriter((text) => log.append(text));
    try {
      for await (const event of meteredStream(ports.metering, chain, request, { account, signal, reserved })) {
        if (event.type === 'text') chunks.push(event.text);
        if (event.type !== 'finish') continue;
        await chunks.flush();
        const { providerId, modelId } = event.spent;
        await log.end({ providerId, modelId, error: '', finishReason: shownReason(event.finishReason) ?? '' });
      }
    } catch (error) {
      await chunks.flush();
      if (signal.aborted) return; // the next holder of the job reports the generation as lost
      await log.end({ providerId: '', modelId: '', error: messageOf(ports, error), finishReason: '' });
    }
  });
}

function messageOf({ log }: Ports, error: unknown): string {
  if (error instanceof ModelError || isDomainError(error)) return error.message;
  log.error({ err: error }, 'text generation failed');
  return internalMessage;
}
