import { EventEmitter, on, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buildSchema } from 'graphql';
import { useServer } from 'graphql-ws/use/ws';
import { WebSocketServer } from 'ws';
import { serve } from '../processes.ts';
import { chunkEvents } from './chunk-events.ts';

// graphql-ws as it comes, on a schema of its own with events made in this process: no credentials, no limits, no wire behind it.
const schema = buildSchema(`
  type Query { nothing: Int }
  type Subscription { sessionEvents(sessionId: ID!): SessionEvent! }
  interface SessionEvent { eventId: String! sessionId: Float! occurredAt: String! }
  type AiResponseChunkEvent implements SessionEvent {
    eventId: String! sessionId: Float! occurredAt: String!
    clientTurnId: String turnIndex: Float! attempt: Int! text: String!
  }
`);
const waves = new EventEmitter();
waves.setMaxListeners(0);
const field = schema.getSubscriptionType()?.getFields()['sessionEvents'];
if (!field) throw new Error('The schema has no sessionEvents');
field.subscribe = async function* () {
  for await (const [events] of on(waves, 'wave')) for (const event of events) yield { sessionEvents: event };
};
const http = createServer();
useServer({ schema }, new WebSocketServer({ server: http, path: '/graphql' }));
http.listen(0, '127.0.0.1');
await once(http, 'listening');
process.on('message', (events: number) => waves.emit('wave', chunkEvents(events)));
serve(`http://127.0.0.1:${(http.address() as AddressInfo).port}/graphql`);
