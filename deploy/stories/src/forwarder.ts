import { createWriteStream } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from '@parley/kernel/http/listen';
import { startScriptedModel } from './scripted-model.ts';

/** The API key of meshes for their model, which no test sends. */
export const modelKey = 'canary-model-key';

/** The text that `createAgent` adds to the prompts of an agent. */
const tagged = /\[model 127\.0\.0\.1:(\d+)\]/u;

/**
 * The model and trace collector of shared meshes: an HTTP server on loopback that forwards each model request to the server that
 * its messages name. It returns a default response if they name none, or one that has ended with its test file. Received spans
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
    /** The settings of a mesh that uses it as its model. */
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
    /** The settings of a mesh that sends it spans. */
    telemetry: {
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_BSP_SCHEDULE_DELAY: '1000',
      // The default of 2,048 drops spans while a busy machine runs hundreds of stories.
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

/** Forwards bytes and disconnects in both directions. `nobody` is called if no server listens on the port. */
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
