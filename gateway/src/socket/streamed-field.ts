import { isAbortError } from '@parley/kernel/abort';
import type { Caller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import type {
  FollowRequest,
  FollowResponse,
  SubscriptionServiceDefinition,
} from '@parley/protos/parley/live/v1/subscriptions';
import type { MeshCallOptions, RpcClient } from '@parley/rpc/client';
import { isUnimplemented } from '@parley/rpc/client-errors';
import { follow } from '@parley/rpc/follow';
import { sharedFeeds, subscribeAgain } from './shared-feeds.ts';
import type { SubscriptionStarts } from './subscription-starts.ts';
import { isLive, type SubscriptionEvent, type SubscriptionSource } from './subscriptions.ts';

/** A Subscription field, fed by its owner's gRPC stream, which all readers that have caught up share. */
export function streamedField(
  field: string,
  owner: () => RpcClient<SubscriptionServiceDefinition>,
  starts: SubscriptionStarts,
): SubscriptionSource {
  const feeds = sharedFeeds<SubscriptionEvent>({ isLive });

  async function* events(request: FollowRequest, caller: Caller, signal: AbortSignal) {
    const begun = await starts.begin(caller, signal);
    if (signal.aborted) return begun(); // aborted as its turn came
    const options = {
      caller,
      expectedErrors: ['notFound', 'forbidden', 'invalid', 'tooManyRequests'],
      onHeader: begun,
    } satisfies MeshCallOptions & { onHeader: () => void };
    const open = (requests: AsyncIterable<FollowRequest>, cut: { signal: AbortSignal }) =>
      watchFirst(owner().follow(requests, { ...options, ...cut }), begun);
    try {
      for await (const event of follow(open, request, signal)) yield eventOf(event);
    } catch (error) {
      // An older replica without this field; the next attempt may reach a newer one.
      if (isUnimplemented(error)) throw unavailable('These events are not served yet; try again in a while', error);
      throw error;
    }
  }

  return async function* (args, caller, signal) {
    const { after: _, ...which } = args;
    const request = { field, argumentsJson: JSON.stringify(args) };
    try {
      const key = `${caller.tenantId} ${JSON.stringify(which)}`;
      for await (const event of feeds.follow(key, (until) => events(request, caller, until), signal)) {
        yield event;
        if (event.isLast) return;
      }
    } catch (error) {
      if (isAbortError(error)) return;
      throw error;
    }
    // Without a last event the sending replica is stopping.
    if (!signal.aborted) throw unavailable(`These events stopped; ${subscribeAgain}`);
  };
}

function eventOf({ eventId, occurredAt, payloadJson, isLast }: FollowResponse): SubscriptionEvent {
  return { eventId, occurredAtMs: occurredAt?.getTime(), payload: JSON.parse(payloadJson), isLast };
}

function watchFirst<T>(responses: AsyncIterable<T>, onFirst: () => void): AsyncIterable<T> {
  const iterator = responses[Symbol.asyncIterator]();
  const rest = () => iterator.next();
  let next = () => {
    next = rest;
    return iterator.next().finally(onFirst);
  };
  return { [Symbol.asyncIterator]: () => ({ next: () => next() }) };
}
