import { once } from 'node:events';
import { createServer, Agent as HttpAgent, type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  credentials,
  makeGenericClientConstructor,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { listen } from '@parley/kernel/http/listen';
import { Pool } from 'pg';
import { type WebSocket, WebSocketServer } from 'ws';
import { asMessages } from '../client.ts';
import { serve } from '../processes.ts';

// Makes only the network hops of a turn: HTTP to the gateway, gRPC to session, gRPC to agent, HTTP to the model server, and the reply
// streamed back to a WebSocket. If there is a database, session also inserts the message and updates it at the end, each with a commit.
const { HOPS = '', NEXT_HOP = '', MODEL_URL = '', DATABASE_URL } = process.env;

interface Message {
  sessionId: number;
  text: string;
  clientTurnId: string;
}

const serialize = (value: unknown) => Buffer.from(JSON.stringify(value));
const deserialize = (bytes: Buffer) => JSON.parse(bytes.toString());
const method = (name: string, responseStream: boolean) => ({
  path: `/bench.Hops/${name}`,
  requestStream: false,
  responseStream,
  requestSerialize: serialize,
  requestDeserialize: deserialize,
  responseSerialize: serialize,
  responseDeserialize: deserialize,
});
const methods = { send: method('Send', false), follow: method('Follow', true), reply: method('Reply', true) };
const clientOf = (address: string) =>
  new (makeGenericClientConstructor(methods, 'Hops'))(address, credentials.createInsecure());

async function serveHop(handlers: UntypedServiceImplementation): Promise<string> {
  const server = new Server();
  server.addService(methods, handlers);
  return `127.0.0.1:${await promisify(server.bindAsync.bind(server))('127.0.0.1:0', ServerCredentials.createInsecure())}`;
}

const agent = () =>
  serveHop({
    async reply(call: ServerWritableStream<Message, { text: string }>) {
      const asked = request(`${MODEL_URL}/chat/completions`, { method: 'POST', agent: keptAlive });
      asked.end(JSON.stringify({ stream: true, ...asMessages(call.request.text) }));
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      let rest = '';
      for await (const piece of answer.setEncoding('utf8')) {
        const events = (rest + piece).split('\n\n');
        rest = events.pop() ?? '';
        const deltas = events.filter((event) => !event.endsWith('[DONE]')).map((event) => JSON.parse(event.slice(6)));
        const text = deltas.map(({ choices: [choice] }) => choice?.delta.content ?? '').join('');
        if (text) call.write({ text });
      }
      call.end();
    },
  });
const keptAlive = new HttpAgent({ keepAlive: true });

async function session(agentAddress: string): Promise<string> {
  const followers = new Map<number, ServerWritableStream<Message, object>>();
  const replies = clientOf(agentAddress);
  const pool = DATABASE_URL ? new Pool({ connectionString: DATABASE_URL, max: 8 }) : undefined;
  const commit = (name: string, text: string, values: unknown[]) => pool?.query({ name, text, values });
  await pool?.query('CREATE TABLE IF NOT EXISTS bench_hops (id text PRIMARY KEY, text text, reply text)');
  return serveHop({
    follow: (call: ServerWritableStream<Message, object>) => void followers.set(call.request.sessionId, call),
    async send({ request: message }: ServerUnaryCall<Message, object>, answer: sendUnaryData<object>) {
      const { sessionId, text, clientTurnId } = message;
      while (!followers.has(sessionId)) await delay(1);
      const tell = (event: object) => followers.get(sessionId)?.write({ clientTurnId, ...event });
      await commit('take', 'INSERT INTO bench_hops (id, text) VALUES ($1, $2)', [clientTurnId, text]);
      answer(null, { id: clientTurnId });
      let reply = '';
      const stream = replies.reply?.(message);
      for await (const { text: more } of stream) {
        reply += more;
        tell({ __typename: 'AiResponseChunkEvent', text: more });
      }
      await commit('finish', 'UPDATE bench_hops SET reply = $2 WHERE id = $1', [clientTurnId, reply]);
      tell({ __typename: 'AiResponseEvent', text: reply });
    },
  });
}

/** Responds like the gateway, so that the bench can use the same client for the gateway and the skeleton. */
async function gateway(sessionAddress: string): Promise<string> {
  const sessions = clientOf(sessionAddress);
  const http = createServer(async (asked, answer) => {
    const { variables } = (await json(asked)) as { variables: { input: Message } };
    const sent = await new Promise((resolve) =>
      sessions.send?.(variables.input, (_: unknown, done: object) => resolve(done)),
    );
    answer.setHeader('content-type', 'application/json').end(JSON.stringify({ data: { sendMessage: sent } }));
  });
  const protocols = { handleProtocols: () => 'graphql-transport-ws' };
  new WebSocketServer({ server: http, path: '/graphql', ...protocols }).on('connection', (socket: WebSocket) => {
    const send = (frame: object) => socket.send(JSON.stringify(frame));
    socket.on('message', (data) => {
      const { type, payload } = JSON.parse(String(data));
      if (type === 'connection_init') return send({ type: 'connection_ack' });
      const events = sessions.follow?.({ sessionId: Number(payload.variables.sessionId) });
      events.on('data', (event: object) =>
        send({ id: '1', type: 'next', payload: { data: { sessionEvents: event } } }),
      );
      events.on('error', () => undefined); // the call is cancelled
      socket.on('close', () => events.cancel());
    });
  });
  return `http://${await listen(http)}/graphql`;
}

const hops: Record<string, (next: string) => Promise<string>> = { agent, session, gateway };
let address = NEXT_HOP;
for (const name of HOPS.split(',')) address = (await hops[name]?.(address)) ?? '';
serve(address);
