import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buildSchema, type GraphQLSchema } from 'graphql';
import { useServer } from 'graphql-ws/use/ws';
import { WebSocketServer } from 'ws';
import { serve } from './child.ts';
import { chunkEvent } from './chunk-event.ts';

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
const readers = new Set<(events: number) => void>();
subscribeOn(schema);
const http = createServer();
const sockets = new WebSocketServer({ server: http, path: '/graphql' });
useServer({ schema }, sockets);
http.listen(0, '127.0.0.1');
await once(http, 'listening');

let sent = 0;
let current: ReturnType<typeof chunkEvent>[] = [];
serve({
  hello: { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/graphql` },
  emit(events) {
    current = Array.from({ length: events }, () => chunkEvent(++sent));
    for (const wake of readers) wake(events);
  },
  stop: async () => undefined,
});

function subscribeOn({ getSubscriptionType }: GraphQLSchema): void {
  const field = getSubscriptionType.call(schema)?.getFields()['sessionEvents'];
  if (!field) throw new Error('The schema has no sessionEvents');
  field.subscribe = async function* () {
    const waiting: ReturnType<typeof chunkEvent>[] = [];
    let wake = () => undefined as void;
    const read = () => {
      waiting.push(...current);
      wake();
    };
    readers.add(read);
    try {
      for (;;) {
        for (const event of waiting.splice(0)) yield { sessionEvents: event };
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (waiting.length > 0) resolve();
        });
      }
    } finally {
      readers.delete(read);
    }
  };
}
