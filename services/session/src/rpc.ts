import type { SessionEvent, SessionServiceImplementation } from '@parley/protos/parley/session/v1/session';
import { acceptFollow, acknowledgeFollow } from '@parley/rpc/follow';
import type { MeshContext } from '@parley/rpc/server';
import type { Ports } from './ports.ts';
import { getTranscript, streamTranscript } from './read-sessions.ts';
import { resolveSessions } from './resolve-sessions.ts';
import { protoMessage } from './session-event.ts';
import { watchSession } from './watch-session.ts';

/** @param watch for tests */
export function sessionRpc(ports: Ports, watch = watchSession): SessionServiceImplementation<MeshContext> {
  return {
    async *watchSession({ sessionId, after }, call) {
      const until = AbortSignal.any([call.signal, call.draining]);
      const follows = () => acknowledgeFollow(call);
      yield* responses(watch(ports, call.caller, { sessionId, after, follows }, until), until);
    },

    async *followSession(requests, call) {
      const { request, left } = await acceptFollow(requests, call.draining);
      const until = AbortSignal.any([call.signal, call.draining, left]);
      const follows = () => acknowledgeFollow(call);
      yield* responses(watch(ports, call.caller, { ...request, follows }, until), until);
    },

    async resolveSessions({ sessionIds }, { caller }) {
      const found = await resolveSessions(ports, caller, sessionIds);
      return { sessions: found.map(({ id, status }) => ({ sessionId: id, status })) };
    },

    async *streamTranscript({ sessionId }, { caller, signal }) {
      for await (const lines of streamTranscript(ports, caller, sessionId)) {
        if (signal.aborted) return;
        yield { lines };
      }
    },

    async getTranscript({ sessionId }, { caller }) {
      const { session, messages } = await getTranscript(ports, caller, sessionId);
      return {
        sessionId: session.id,
        agentId: session.agentId,
        status: session.status,
        messages: messages.map(protoMessage),
      };
    },
  };
}

/** A long replay checks no signal between two reads of the database, so this does. */
async function* responses(events: AsyncIterable<SessionEvent>, until: AbortSignal) {
  for await (const event of events) {
    if (until.aborted) return;
    yield { event };
  }
}
