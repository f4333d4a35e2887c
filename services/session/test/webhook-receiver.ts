import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from '@parley/kernel/http/listen';
import type { ExecutionContext } from 'ava';

export interface Received {
  path: string;
  headers: Record<string, string>;
  body: string;
}

type Answer = (received: Received, response: ServerResponse) => unknown;

export interface WebhookReceiver {
  readonly url: string;
  /** Requests in order of arrival. */
  readonly received: Received[];
  /** The response to later requests. Default: 204. */
  answer: Answer;
  /** Stops listening, so that connections are refused. */
  stop(): void;
  /** Listens again on the same address. */
  start(): Promise<void>;
}

/** Starts a customer's webhook server on loopback; it stops at the end of the test. */
export async function webhookReceiver(
  t: Pick<ExecutionContext, 'teardown'>,
  answer?: Answer,
): Promise<WebhookReceiver> {
  const receiver = {
    url: '',
    received: [] as Received[],
    answer: answer ?? ((_, response) => response.writeHead(204).end()),
    stop,
    start,
  };
  let http = createServer();

  async function start(): Promise<void> {
    http = createServer(async (request, response) => {
      const { url: path = '', headers } = request;
      const received = { path, headers: plain(headers), body: await text(request).catch(() => '') };
      receiver.received.push(received);
      response.on('error', () => undefined);
      await receiver.answer(received, response);
    });
    const port = receiver.url === '' ? 0 : Number(new URL(receiver.url).port);
    receiver.url = `http://${await listen(http, port, '127.0.0.1')}`;
  }

  function stop(): void {
    http.closeAllConnections();
    http.close();
  }

  await start();
  t.teardown(stop);
  return receiver;
}

function plain(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value = '']) => [name, String(value)]));
}
