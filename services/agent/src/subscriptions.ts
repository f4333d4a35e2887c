import { tenantRequest } from '@parley/kernel/caller-request';
import { finishEvent, type SubscriptionField } from '@parley/live/subscriptions/subscription-rpc';
import type { Ports } from './ports.ts';
import { watchTextGeneration } from './text-generations/watch-text-generation.ts';

export function agentSubscriptions(ports: Ports): Record<string, SubscriptionField> {
  return {
    async *textGenerationEvents({ requestId, after: given }, call) {
      const { follows, afterEventId } = call;
      const after = typeof given === 'string' ? given : undefined;
      const watch = { requestId: String(requestId), follows, after, afterEventId };
      for await (const event of watchTextGeneration(ports, tenantRequest(call), watch)) {
        const finished = finishEvent(event, ({ payload }) => payload);
        if (finished) yield finished;
      }
    },
  };
}
