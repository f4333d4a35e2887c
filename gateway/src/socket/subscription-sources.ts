import type { Callers } from '@parley/kernel/caller';
import type { Addresses } from '@parley/kernel/processes/addresses';
import type { MeshOptions } from '@parley/kernel/tls/mesh';
import { SubscriptionServiceDefinition } from '@parley/protos/parley/live/v1/subscriptions';
import { type RpcClientPart, rpcClient } from '@parley/rpc/client';
import { streamedField } from './streamed-field.ts';
import { fieldsWithAfter, subscriptionOwners } from './subscription-owners.ts';
import type { SubscriptionStarts } from './subscription-starts.ts';
import type { SubscriptionSource } from './subscriptions.ts';

export interface SubscriptionSourcesOptions {
  sdl: string;
  addresses: Addresses;
  callers: Callers;
  mesh: MeshOptions | undefined;
  starts: SubscriptionStarts;
  /** Called when a lost stream of this field has been resumed. */
  onResumed: (field: string) => void;
}

/**
 * Maps each Subscription field to the event stream of its owner.
 * @param opened receives each client of an owner, so that the caller can close it later
 */
export async function subscriptionSources(
  { sdl, starts, onResumed, ...mesh }: SubscriptionSourcesOptions,
  opened: AsyncDisposableStack,
): Promise<Record<string, SubscriptionSource>> {
  const owners = subscriptionOwners(sdl);
  const clients = new Map<string, RpcClientPart<SubscriptionServiceDefinition>>();
  for (const unit of new Set(owners.values())) {
    const client = clientOf(unit, mesh);
    await client.start();
    opened.defer(async () => client.stop());
    clients.set(unit, client);
  }
  const withAfter = fieldsWithAfter(sdl);
  const sources = [...owners].flatMap(([name, unit]) => {
    const client = clients.get(unit);
    const field = { name, takesAfter: withAfter.has(name) };
    return client
      ? [
          [
            name,
            streamedField(
              field,
              () => client.calls,
              starts,
              () => onResumed(name),
            ),
          ] as const,
        ]
      : [];
  });
  return Object.fromEntries(sources);
}

function clientOf(
  unit: string,
  { addresses, callers, mesh }: Pick<SubscriptionSourcesOptions, 'addresses' | 'callers' | 'mesh'>,
): RpcClientPart<SubscriptionServiceDefinition> {
  const address = () => addresses.of(unit, 'rpc');
  return rpcClient({
    definition: SubscriptionServiceDefinition,
    unit,
    address,
    callers,
    mesh,
    slowReaders: true,
  });
}
