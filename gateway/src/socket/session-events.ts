import { isAbortError } from '@parley/chassis/abort';
import { forbidden, notFound, unavailable } from '@parley/chassis/errors';
import { idArgument } from '@parley/chassis/graph/id-argument';
import type { RpcClient } from '@parley/chassis/rpc/client';
import { follow } from '@parley/chassis/rpc/follow';
import type {
  FollowSessionRequest,
  Message,
  SessionEvent,
  SessionServiceDefinition,
} from '@parley/protos/parley/session/v1/session';
import type { SubscriptionSource } from './subscriptions.ts';

/** `Subscription.sessionEvents`, fed by the session service's stream. */
export function sessionEvents(session: () => RpcClient<typeof SessionServiceDefinition>): SubscriptionSource {
  return async function* ({ sessionId, after }, caller, signal) {
    const id = idArgument(String(sessionId));
    if (caller.kind === 'session' && id !== caller.sessionId) throw forbidden('This token belongs to another session');
    if (id === undefined) throw notFound('Session', String(sessionId));
    try {
      const events = follow(
        (requests: AsyncIterable<FollowSessionRequest>, { signal: cut }) =>
          session().followSession(requests, {
            caller,
            signal: cut,
            passOn: ['notFound', 'forbidden', 'invalid', 'tooManyRequests'],
          }),
        { sessionId: id, after: typeof after === 'string' ? after : undefined },
        signal,
      );
      for await (const { event } of events) {
        const payload = event && payloadOf(event);
        if (payload) yield payload;
      }
    } catch (error) {
      if (isAbortError(error)) return;
      throw error;
    }
    // Events have no end of their own: the replica that sent them is stopping, and another will take the client back.
    if (!signal.aborted)
      throw unavailable('The events of this session stopped; subscribe again with the last event id');
  };
}

/** The event in the shape of the GraphQL type that stands for it; undefined for a kind that only a newer version knows. */
export function payloadOf({ eventId, sessionId, occurredAt, kind }: SessionEvent): Record<string, unknown> | undefined {
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
