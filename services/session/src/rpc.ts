import { tenantRequest } from '@parley/kernel/caller-request';
import type { SessionServiceImplementation } from '@parley/protos/parley/session/v1/session';
import type { MeshContext } from '@parley/rpc/server';
import type { Ports } from './ports.ts';
import { getTranscript, streamTranscript } from './read-sessions.ts';
import { resolveSessions } from './resolve-sessions.ts';
import { protoMessage } from './session-event.ts';

export function sessionRpc(ports: Ports): SessionServiceImplementation<MeshContext> {
  return {
    async resolveSessions({ sessionIds }, call) {
      const found = await resolveSessions(ports, tenantRequest(call), sessionIds);
      return { sessions: found.map(({ id, status }) => ({ sessionId: id, status })) };
    },

    async *streamTranscript({ sessionId }, call) {
      for await (const lines of streamTranscript(ports, tenantRequest(call), { sessionId })) {
        if (call.signal.aborted) return;
        yield { lines };
      }
    },

    async getTranscript({ sessionId }, call) {
      const { session, messages } = await getTranscript(ports, tenantRequest(call), sessionId);
      return {
        sessionId: session.id,
        agentId: session.agentId,
        status: session.status,
        messages: messages.map(protoMessage),
      };
    },
  };
}
