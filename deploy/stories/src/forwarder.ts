import { createWriteStream } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from '@parley/kernel/http/listen';
import { startScriptedModel } from './scripted-model.ts';

/** The meshes' API key for their model. No test sends it. */
export const modelKey = 'canary-model-key';

/** Matches the text that `createAgent` appends to the prompts of an agent. */
const tagged = /\[model 127\.0\.0\.1:(\d+)\]/u;

/**
 * Starts the model server and trace collector of shared meshes, on loopback. Each model request is forwarded to the model server whose port
 * its messages contain. If there is no port, or that server has stopped with its test file, the response is a default one. Received spans
 * are appended to a file, one OTLP request per line.
 */
export async function startForwarder(spansFile: string) {
  const others = await startScriptedModel();
  const spans = createWriteStream(spansFile, { flags: 'a', mode: 0o600 });

  const http = createServer(async (asked, answer) => {
    const body = await buffer(asked).catch(() => undefined);
    if (!body) return answer.destroy(); // the client has disconnected
    if (asked.url === '/v1/traces') {
      spans.write(`${body.toString('utf8')}\n`);
      return answer.setHeader('content-type', 'application/json').end('{}');
    }
    const port = Number(tagged.exec(body.toString('utf8'))?.[1] ?? others.port);
    pass(asked, body, answer, port, () => pass(asked, body, answer, others.port, () => answer.destroy()));
  });
  const url = `http://${await listen(http)}`;
  return {
    /** The settings of a mesh that uses this server as its model. */
    env: {
      ...others.env,
      HOSTED_SMALL_MODEL_URL: `${url}/v1`,
      HOSTED_SMALL_MODEL_KEY: modelKey,
      CLOUD_HOSTED_MODELS_API: 'openai',
      CLOUD_HOSTED_MODELS_URL: `${url}/v1`,
      CLOUD_HOSTED_MODELS_KEY: modelKey,
      CLOUD_HOSTED_MODELS_MODEL: 'gpt-4o',
      DIRECT_MODEL_API_URL: `${url}/v1`,
      DIRECT_MODEL_API_KEY: modelKey,
      DIRECT_MODEL_API_MODEL: 'gpt-4o-mini',
    },
    /** The settings of a mesh that sends its spans to this server. */
    telemetry: {
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_BSP_SCHEDULE_DELAY: '1000',
      // With the default of 2,048, spans are dropped while a busy machine runs hundreds of stories.
      OTEL_BSP_MAX_QUEUE_SIZE: '65536',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '4096',
    },
    async stop(): Promise<void> {
      http.closeAllConnections();
      await http[Symbol.asyncDispose]();
      await others.server.stop();
      await new Promise((resolve) => spans.end(resolve));
    },
  };
}

/** Forwards a request and its response, and a disconnection in either direction. Calls `nobody` if no server listens on the port. */
function pass(asked: IncomingMessage, body: Buffer, answer: ServerResponse, port: number, nobody: () => void): void {
  const { method, url, headers } = asked;
  const onward = request({ host: '127.0.0.1', port, method, path: url, headers }, (response) => {
    answer.writeHead(response.statusCode ?? 502, response.headers);
    answer.flushHeaders();
    response.on('error', () => answer.destroy()).pipe(answer);
  });
  onward.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ECONNREFUSED') nobody();
    else answer.destroy();
  });
  answer.on('close', () => onward.destroy());
  onward.setNoDelay(true);
  onward.end(body);
}
