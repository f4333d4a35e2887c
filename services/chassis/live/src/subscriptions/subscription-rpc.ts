import type { Caller } from '@parley/kernel/caller';
import { badRequest, unavailable } from '@parley/kernel/errors';
import { isJsonObject, parseJson } from '@parley/kernel/json';
import type { FollowResponse, SubscriptionServiceImplementation } from '@parley/protos/parley/live/v1/subscriptions';
import { acceptFollow, acknowledgeFollow, type FollowPromise } from '@parley/rpc/follow';
import type { MeshContext } from '@parley/rpc/server';
import type { EventId } from '../event-log/event-id.ts';

/** One client's subscription to a field of the GraphQL type Subscription. */
export interface SubscriptionCall {
  caller: Caller;
  /** Call this as soon as every later event is certain to be delivered. */
  follows: (promise?: FollowPromise) => void;
  /** Aborts when the subscriber has left or the server stops. */
  signal: AbortSignal;
  /**
   * The id of the last event that the reader was shown in an earlier subscription. Undefined for a new reader. Also undefined if the field
   * has an argument `after` and did not promise to resume (`FollowPromise`).
   */
  afterEventId?: EventId | undefined;
}

/**
 * Yields the events of one subscription field, with their payloads.
 * @param args the field's arguments, coerced to the types of the schema.
 */
export type SubscriptionField = (
  args: Record<string, unknown>,
  call: SubscriptionCall,
) => AsyncIterable<FollowResponse>;

/** Serves a unit's fields of the GraphQL type Subscription to gateways. The keys of `fields` are their names. */
export function subscriptionRpc(
  fields: Record<string, SubscriptionField>,
): SubscriptionServiceImplementation<MeshContext> {
  return {
    async *follow(requests, call) {
      const { request, closeSignal } = await acceptFollow(requests, call.drainSignal);
      const field = Object.hasOwn(fields, request.field) ? fields[request.field] : undefined;
      if (!field) throw unavailable(`Subscription.${request.field} is not served here`);
      const signal = AbortSignal.any([call.signal, call.drainSignal, closeSignal]);
      const follows = (promise?: FollowPromise) => acknowledgeFollow(call, promise);
      const afterEventId = request.afterEventId || undefined;
      const subscription = { caller: call.caller, follows, signal, afterEventId };
      for await (const event of field(argumentsOf(request.argumentsJson), subscription)) {
        if (signal.aborted) return; // this check also ends a long replay
        yield event;
      }
    },
  };
}

function argumentsOf(json: string): Record<string, unknown> {
  const given = parseJson(json);
  if (!isJsonObject(given)) throw badRequest('The arguments are no JSON object');
  return given;
}

const finished = new WeakMap<object, string>();

/**
 * Returns an event with its payload as JSON, serialized once for all readers that get the same event object.
 * @param payload returns an object with the fields of the event's GraphQL type; undefined if this version does not know the kind of the
 * event
 */
export function finishEvent<Event extends { eventId: EventId; occurredAt?: Date | undefined; isLast?: boolean }>(
  event: Event,
  payload: (event: Event) => object | undefined,
): FollowResponse | undefined {
  const { eventId, occurredAt, isLast = false } = event;
  const payloadJson = finished.get(event) ?? JSON.stringify(payload(event));
  if (payloadJson === undefined) return undefined;
  finished.set(event, payloadJson);
  return { eventId, occurredAt, payloadJson, isLast };
}
