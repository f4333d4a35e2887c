import { on } from 'node:events';
import { createServer } from 'node:http';
import { listen } from '@parley/kernel/http/listen';
import { buildSchema } from 'graphql';
import { useServer } from 'graphql-ws/use/ws';
import { WebSocketServer } from 'ws';
import { serve } from '../processes.ts';

// graphql-ws with its defaults and its own schema: no credentials, no limits, no subgraphs.
const schema = buildSchema(`
  type Query { nothing: Int }
  type Subscription { sessionEvents(sessionId: ID!): SessionEvent! }
  interface SessionEvent { eventId: String! sessionId: Float! occurredAt: String! }
  type AiResponseChunkEvent implements SessionEvent {
    eventId: String! sessionId: Float! occurredAt: String!
    clientTurnId: String turnIndex: Float! attempt: Int! text: String!
  }
`);
process.setMaxListeners(0); // each subscription adds a listener to the process
const subscription = {
  async *sessionEvents() {
    for await (const [events] of on(process, 'message')) for (const event of events) yield { sessionEvents: event };
  },
};
const http = createServer();
useServer({ schema, roots: { subscription } }, new WebSocketServer({ server: http, path: '/graphql' }));
serve(`http://${await listen(http)}/graphql`);
