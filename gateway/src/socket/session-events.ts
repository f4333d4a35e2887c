import { isAbortError } from '@parley/chassis/abort';
import type { Caller } from '@parley/chassis/caller';
import { forbidden, notFound, unavailable } from '@parley/chassis/errors';
import { idArgument } from '@parley/chassis/graph/id-argument';
import type { MeshCallOptions, RpcClient } from '@parley/chassis/rpc/client';
import { isUnimplemented } from '@parley/chassis/rpc/client-errors';
import { follow } from '@parley/chassis/rpc/follow';
import type {
  FollowSessionRequest,
  Message,
  SessionEvent,
  SessionServiceDefinition,
} from '@parley/protos/parley/session/v1/session';
import { sharedFeeds } from './shared-feeds.ts';
import type { SubscriptionStarts } from './subscription-starts.ts';
import { isLive, type SubscriptionPayload, type SubscriptionSource } from './subscriptions.ts';

/** An event in the shape of the GraphQL type that stands for it. */
export interface EventPayload extends SubscriptionPayload {
  __typename: string;
  eventId: string;
}

/** `Subscription.sessionEvents`, fed by the session service's stream: one for all readers of a session who have caught up. */
export function sessionEvents(
  session: () => RpcClient<typeof SessionServiceDefinition>,
  starts: SubscriptionStarts,
): SubscriptionSource {
  const feeds = sharedFeeds<EventPayload>({ isLive });

  async function* responses(request: FollowSessionRequest, caller: Caller, signal: AbortSignal) {
    const begun = await starts.begin(caller, signal);
    if (signal.aborted) return begun(); // just when its turn had come
    const options = {
      caller,
      passOn: ['notFound', 'forbidden', 'invalid', 'tooManyRequests'],
      onHeader: begun,
    } satisfies MeshCallOptions & { onHeader: () => void };
    const open = (requests: AsyncIterable<FollowSessionRequest>, cut: { signal: AbortSignal }) =>
      watchFirst(session().followSession(requests, { ...options, ...cut }), begun);
    try {
      yield* follow(open, request, signal);
    } catch (error) {
      if (!isUnimplemented(error)) throw error;
      yield* session().watchSession(request, { ...options, signal }); // while a rolling change lasts
    }
  }

  async function* payloads(request: FollowSessionRequest, caller: Caller, signal: AbortSignal) {
    for await (const { event } of responses(request, caller, signal)) {
      const payload = event && payloadOf(event);
      if (payload) yield payload;
    }
  }

  return async function* ({ sessionId, after }, caller, signal) {
    const id = idArgument(String(sessionId));
    if (caller.kind === 'session' && id !== caller.sessionId) throw forbidden('This token belongs to another session');
    if (id === undefined) throw notFound('Session', String(sessionId));
    const request = { sessionId: id, after: typeof after === 'string' ? after : undefined };
    try {
      yield* feeds.follow(`${caller.tenantId} ${id}`, (until) => payloads(request, caller, until), signal);
    } catch (error) {
      if (isAbortError(error)) return;
      throw error;
    }
    // Events have no end of their own: the replica that sent them is stopping, and another will take the client back.
    if (!signal.aborted)
      throw unavailable('The events of this session stopped; subscribe again with the last event id');
  };
}

/** The same; tells when the first has come, or it is clear that none will. */
function watchFirst<T>(responses: AsyncIterable<T>, come: () => void): AsyncIterable<T> {
  const iterator = responses[Symbol.asyncIterator]();
  const rest = () => iterator.next();
  let next = () => {
    next = rest;
    return iterator.next().finally(come);
  };
  return { [Symbol.asyncIterator]: () => ({ next: () => next() }) };
}

/** Undefined for a kind that only a newer version knows. */
export function payloadOf({ eventId, sessionId, occurredAt, kind }: SessionEvent): EventPayload | undefined {
  const common = { eventId, sessionId, occurredAt: occurredAt?.toISOString() };
  switch (kind?.$case) {
    case 'aiResponseChunk':
      return { __typename: 'AiResponseChunkEvent', ...common, ...kind.value };
    case 'aiResponse':
      return {
        __typename: 'AiResponseEvent',
        ...common,
        clientTurnId: kind.value.clientTurnId,
        turnIndex: kind.value.turnIndex,
        interrupted: kind.value.interrupted,
        text: kind.value.message?.text,
        message: kind.value.message && messageOf(kind.value.message),
      };
    case 'turnFailed':
      return { __typename: 'TurnFailedEvent', ...common, ...kind.value };
    case 'sessionStatusChanged':
      return { __typename: 'SessionStatusEvent', ...common, status: kind.value.status };
    default:
      return undefined;
  }
}

function messageOf(message: Message): Record<string, unknown> {
  const { costUsdE8, structuredContentJson, createdAt, updatedAt, ...same } = message;
  return {
    ...same,
    costUsd: Number(costUsdE8) / 1e8,
    structuredContent: structuredContentJson ? JSON.parse(structuredContentJson) : null,
    createdAt: createdAt?.toISOString(),
    updatedAt: updatedAt?.toISOString(),
  };
}
