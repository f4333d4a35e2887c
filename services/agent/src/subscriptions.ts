import { finishEvent, type SubscriptionField } from '@parley/live/subscriptions/subscription-rpc';
import type { Ports } from './ports.ts';
import { watchTextGeneration } from './watch-text-generation.ts';

export function agentSubscriptions(ports: Ports): Record<string, SubscriptionField> {
  return {
    async *textGenerationEvents({ requestId }, { caller, ...call }) {
      for await (const event of watchTextGeneration(ports, caller, String(requestId), call)) {
        const finished = finishEvent(event, ({ payload }) => payload);
        if (finished) yield finished;
      }
    },
  };
}
