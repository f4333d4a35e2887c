import type { SessionServiceImplementation } from '@parley/protos/parley/session/v1/session';
import type { MeshContext } from '@parley/rpc/server';
import type { Ports } from './ports.ts';
import { getTranscript, streamTranscript } from './read-sessions.ts';
import { resolveSessions } from './resolve-sessions.ts';
import { protoMessage } from './session-event.ts';

export function sessionRpc(ports: Ports): SessionServiceImplementation<MeshContext> {
  return {
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
