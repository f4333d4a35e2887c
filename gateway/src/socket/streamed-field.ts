import { setTimeout as delay } from 'node:timers/promises';
import type { Caller } from '@parley/kernel/caller';
import { type ErrorKind, isDomainError, unavailable } from '@parley/kernel/errors';
import { isAbortError } from '@parley/kernel/timing/abort';
import type { EventId } from '@parley/live/event-log/event-id';
import type {
  FollowRequest,
  FollowResponse,
  SubscriptionServiceDefinition,
} from '@parley/protos/parley/live/v1/subscriptions';
import type { RpcClient } from '@parley/rpc/client';
import { type FollowHeader, type FollowPromise, follow, promiseOf } from '@parley/rpc/follow';
import { sharedFeeds, subscribeAgain } from './shared-feeds.ts';
import type { SubscriptionStarts } from './subscription-starts.ts';
import { isLive, type SubscriptionEvent, type SubscriptionSource } from './subscriptions.ts';

/**
 * Pauses in ms between attempts to reopen a lost stream; an event resets the pauses. After all pauses, about 20 s in total, the stream
 * fails.
 */
const resumeAfterMs = [100, 200, 500, 1_000, ...Array.from({ length: 9 }, () => 2_000)];

/** A stream that was open for this time in ms counts as a success. If it is lost later, the pauses start from the first one again. */
const longLivedMs = 10_000;

/** Event ids carry the engine's time. This gateway's clock may be ahead of the engine's clock by this time in ms. */
const clockSkewMs = 1_000;

/**
 * Creates a Subscription field that reads its owner's gRPC stream. All readers that have caught up share one stream. A lost stream resumes
 * at another replica, after the last event, if the field has no argument for the resume position, or if the owner promises to resume.
 */
export function streamedField(
  { name: field, takesAfter }: { name: string; takesAfter: boolean },
  owner: () => RpcClient<SubscriptionServiceDefinition>,
  starts: SubscriptionStarts,
  onResumed: () => void = () => undefined,
): SubscriptionSource {
  const feeds = sharedFeeds<SubscriptionEvent>({ isLive });

  async function* events(request: FollowRequest, from: EventId | undefined, caller: Caller, signal: AbortSignal) {
    let after: EventId | undefined;
    let isResumable = false;
    const following = ({ resumes }: FollowPromise) => {
      isResumable = !takesAfter || resumes === true;
      after ??= from ?? `${Date.now() - clockSkewMs}-0`;
    };
    for (let lost = 0; ; lost += 1) {
      const begunAt = performance.now();
      try {
        const afterEventId = after ?? '';
        for await (const event of stream({ ...request, afterEventId }, caller, { signal, following })) {
          after = event.eventId;
          lost = 0;
          yield event;
          if (event.isLast) return;
        }
      } catch (error) {
        if (!isResumable || !isLost(error)) throw error;
      }
      if (performance.now() - begunAt > longLivedMs) lost = 0;
      const pauseMs = resumeAfterMs[lost];
      if (!isResumable || signal.aborted || pauseMs === undefined) return;
      await delay(pauseMs, undefined, { signal });
      onResumed();
    }
  }

  async function* stream(
    request: FollowRequest,
    caller: Caller,
    { signal, following }: { signal: AbortSignal; following: (promise: FollowPromise) => void },
  ) {
    const end = await starts.begin(caller, signal);
    if (signal.aborted) return end(); // aborted while the start was queued
    const onHeader = (header: FollowHeader) => {
      following(promiseOf(header));
      end();
    };
    const expectedErrors: ErrorKind[] = ['notFound', 'forbidden', 'invalid', 'tooManyRequests'];
    const open = (requests: AsyncIterable<FollowRequest>, cut: { signal: AbortSignal }) =>
      watchFirst(owner().follow(requests, { caller, expectedErrors, onHeader, ...cut }), end);
    for await (const event of follow(open, request, signal)) yield eventOf(event);
  }

  return async function* (args, caller, signal) {
    const { after, ...which } = args;
    const from = typeof after === 'string' ? after : undefined;
    const request = { field, argumentsJson: JSON.stringify(args), afterEventId: '' };
    try {
      const key = `${caller.tenantId} ${JSON.stringify(which)}`;
      for await (const event of feeds.follow(key, (until) => events(request, from, caller, until), signal)) {
        yield event;
        if (event.isLast) return;
      }
    } catch (error) {
      if (isAbortError(error)) return;
      throw error;
    }
    // A stream that ends without a last event comes from a replica that is stopping.
    if (!signal.aborted) throw unavailable(`These events stopped; ${subscribeAgain}`);
  };
}

/** Reports whether a stream was lost with its replica, so that another replica may continue it. */
function isLost(error: unknown): boolean {
  return isDomainError(error, 'unavailable') && error.reason === undefined;
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
