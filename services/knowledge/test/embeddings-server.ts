import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGate } from '@parley/testing/gate';
import type { ExecutionContext } from 'ava';
import type { Embedding } from '../src/embeddings/embedder.ts';
import { embedOffline } from '../src/embeddings/offline-embedding.ts';

export interface EmbeddingsServer {
  /** The server's URL, including `/v1`. */
  url: string;
  requests: { model: string; input: string[] }[];
  tokensOfText: number;
  vectorOf(text: string, model?: string): Embedding;
  /** Makes the server respond with this status to the nth request from now (n is `request`) and to all later requests. */
  refuseFrom(request: number, status: number): void;
  /** Decides whether the server refuses a text as too long. Tests may replace this function. */
  tooLong: (text: string) => boolean;
  /** The response to a request with a text that is too long. */
  refusal: { status: number; body: string };
  /** Number of refused requests. */
  refusals: number;
  /** Models that the server does not serve. */
  absent: Set<string>;
  /** Delays requests with this text (for this model, if given) until `open` is called. */
  hold(text: string, model?: string): { reached: Promise<void>; open(): void };
}

const usualModel = 'text-embedding-3-small';

/** An OpenAI-compatible `/v1/embeddings` server. Vectors of different models are unrelated. */
export async function startEmbeddings(t: Pick<ExecutionContext, 'teardown'>): Promise<EmbeddingsServer> {
  const requests: EmbeddingsServer['requests'] = [];
  const absent = new Set<string>();
  let broken = { from: Number.POSITIVE_INFINITY, status: 500 };
  let held: (input: string[], model: string) => Promise<void> | undefined = () => undefined;
  const tokensOfText = 3;
  const vectorOf = (text: string, model = usualModel) => {
    const vector = embedOffline(text);
    return model === usualModel ? vector : vector.toReversed();
  };
  const listener = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { model, input } = JSON.parse(Buffer.concat(chunks).toString()) as (typeof requests)[number];
    if (absent.has(model)) return response.writeHead(404).end();
    if (requests.length >= broken.from) return response.writeHead(broken.status).end();
    if (input.some((text) => server.tooLong(text))) {
      server.refusals += 1;
      return response.writeHead(server.refusal.status).end(server.refusal.body);
    }
    await held(input, model);
    requests.push({ model, input });
    const data = input.map((text, index) => ({ index, embedding: [...vectorOf(text, model)] }));
    return response.end(JSON.stringify({ data, usage: { prompt_tokens: tokensOfText * input.length } }));
  });
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    listener.close();
    listener.closeAllConnections();
  });
  const { port } = listener.address() as AddressInfo;
  const server: EmbeddingsServer = {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    tokensOfText,
    vectorOf,
    absent,
    tooLong: () => false,
    refusal: {
      status: 400,
      body: '{"error":{"message":"This model\'s maximum context length is 512 tokens. Please reduce the length."}}',
    },
    refusals: 0,
    hold(text, ofModel) {
      const reached = Promise.withResolvers<void>();
      const gate = createGate();
      held = (input, model) => {
        if (!input.some((each) => each.includes(text)) || (ofModel ?? model) !== model) return undefined;
        reached.resolve();
        return gate.pass();
      };
      return { reached: reached.promise, open: () => gate.open() };
    },
    refuseFrom(request, status) {
      broken = { from: requests.length + request, status };
    },
  };
  return server;
}
