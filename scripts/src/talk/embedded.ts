import { type SessionEvent as ClientEvent, connect, ParleyError } from '@parley/embed';
import type { SessionEvent } from '@parley/stories/session-events';
import { type Api, ApiError } from './api.ts';
import { type Conversation, type Screen, showReply } from './conversation.ts';

const generateApiKey = 'mutation { generateApiKey { key } }';
const start = 'mutation ($input: SdkStartInput!) { sdkStart(input: $input) { sessionId avatarToken } }';

/** Creates an API key in a temporary account, because a new key in the user's own account would revoke the one in use. */
export async function newApiKey(api: Api): Promise<string> {
  const { generateApiKey: made } = await api.call<{ generateApiKey: { key: string } }>(generateApiKey);
  return made.key;
}

/** Starts a conversation as an embedding page does: an API key starts the session; then the browser client uses only a session token. */
export async function converseEmbedded(
  api: Api,
  apiKey: string,
  agentId: number,
  screen: Screen,
): Promise<Conversation> {
  const server = api.as({ 'x-api-key': apiKey });
  const { sdkStart } = await server.call<{ sdkStart: { sessionId: number; avatarToken: string } }>(start, {
    input: { agentId, clientId: 'talk' },
  });
  const session = connect({
    endpoint: api.url,
    sessionId: sdkStart.sessionId,
    token: sdkStart.avatarToken,
    onState(state) {
      if (state.name === 'reconnecting') screen.note(`[connection lost: ${state.error.message}; reconnecting]`);
    },
  });
  const events = asShown(session[Symbol.asyncIterator]());

  return {
    greet: () => showReply(events, screen),
    async send(text) {
      const { clientTurnId } = await session.send(text).catch(refused);
      await showReply(events, screen, clientTurnId);
    },
    interrupt: () => session.interrupt().catch(refused),
    async end() {
      const { evaluation } = await session.end().catch(refused);
      session.close();
      return evaluation ? { ...evaluation, weaknesses: [] } : undefined;
    },
  };
}

/** Browsers do not receive the model and the cost of a reply. */
async function* asShown(events: AsyncIterator<ClientEvent>): AsyncGenerator<SessionEvent> {
  for (let next = await events.next(); !next.done; next = await events.next()) {
    const event = next.value;
    const isReply = event.__typename === 'AiResponseEvent';
    yield (isReply ? { ...event, message: { ...event.message, modelId: null, costUsd: 0 } } : event) as SessionEvent;
  }
}

function refused(error: unknown): never {
  if (error instanceof ParleyError) throw new ApiError({ message: error.message, code: error.code });
  throw error;
}
