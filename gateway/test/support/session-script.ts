import type { Caller } from '@parley/kernel/caller';
import type { FollowResponse, SubscriptionServiceImplementation } from '@parley/protos/parley/live/v1/subscriptions';
import { SessionServiceDefinition, type SessionServiceImplementation } from '@parley/protos/parley/session/v1/session';
import { acceptFollow, acknowledgeFollow } from '@parley/rpc/follow';
import type { MeshCall, MeshContext } from '@parley/rpc/server';
import { stubRpc } from '@parley/testing/stub-rpc';

/** The arguments of a subscription to session events, as the session service parses them. */
export interface FollowedSession {
  sessionId?: string;
  after?: string;
}

export function finishedEvent(
  __typename: string,
  { eventId, occurredAt, ...fields }: { eventId: string; occurredAt: Date; [field: string]: unknown },
): FollowResponse {
  const payloadJson = JSON.stringify({ __typename, eventId, occurredAt, ...fields });
  return { eventId, occurredAt, payloadJson, isLast: false };
}

/** A session service whose event streams the test controls. */
export interface SessionScript {
  rpc: SessionServiceImplementation<MeshContext>;
  subscriptions: SubscriptionServiceImplementation<MeshContext>;
  opened: { request: FollowedSession; caller: Caller }[];
  open(): number;
  /** Number of events delivered to streams. */
  handedOn: number;
  send(...events: FollowResponse[]): void;
  /** Ends every open stream, with an error if given. */
  end(error?: Error): void;
  /** Statuses by session id. All sessions belong to tenant 1. */
  statuses: Map<number, string>;
  /** Called before the first event of a stream; an error thrown here ends the stream. */
  onOpen: (request: FollowedSession) => void;
  /** Awaited by each stream before it reports its start. */
  beforeFollowing: () => Promise<void>;
}

interface Stream {
  events: FollowResponse[];
  ended?: { error: Error | undefined };
  wake: () => void;
}

export function sessionScript(): SessionScript {
  const streams = new Set<Stream>();
  const script: SessionScript = {
    opened: [],
    open: () => streams.size,
    handedOn: 0,
    send(...events) {
      for (const stream of streams) {
        stream.events.push(...events);
        stream.wake();
      }
    },
    end(error) {
      for (const stream of streams) {
        stream.ended = { error };
        stream.wake();
      }
    },
    statuses: new Map(),
    onOpen: () => undefined,
    beforeFollowing: async () => undefined,
    rpc: stubRpc(SessionServiceDefinition, {
      async resolveSessions({ sessionIds }, { caller }) {
        const found = caller.tenantId === 1 ? sessionIds : [];
        return {
          sessions: found.flatMap((sessionId) => {
            const status = script.statuses.get(sessionId);
            return status === undefined ? [] : [{ sessionId, status }];
          }),
        };
      },
    }),
    subscriptions: {
      async *follow(requests, call) {
        const { request, closeSignal } = await acceptFollow(requests, call.drainSignal);
        yield* stream(
          JSON.parse(request.argumentsJson),
          call,
          AbortSignal.any([call.signal, call.drainSignal, closeSignal]),
        );
      },
    },
  };

  async function* stream(request: FollowedSession, call: MeshCall, signal: AbortSignal) {
    const self: Stream = { events: [], wake: () => undefined };
    script.opened.push({ request, caller: call.caller });
    streams.add(self);
    try {
      script.onOpen(request);
      await script.beforeFollowing();
      acknowledgeFollow(call);
      while (!signal.aborted) {
        for (const event of self.events.splice(0)) {
          script.handedOn += 1;
          yield event;
        }
        if (self.ended?.error) throw self.ended.error;
        if (self.ended) return;
        await new Promise<void>((resolve) => {
          self.wake = resolve;
          signal.addEventListener('abort', () => resolve(), { once: true });
          if (self.events.length > 0 || self.ended || signal.aborted) resolve();
        });
      }
    } finally {
      streams.delete(self);
    }
  }

  return script;
}
