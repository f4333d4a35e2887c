import { once } from 'node:events';
import { createServer } from 'node:http';
import { listen } from '@parley/kernel/http/listen';

/** The transcript of every clip that a browser recorded. */
export const recorded = 'This is what I said.';

/**
 * Starts a transcription provider like OpenAI's. A marker in the clip, which real audio does not contain, determines the response:
 * - `say:<transcript>` returns the transcript.
 * - `fail:` returns 503.
 * - `wait:<name>` gets no response. When the client disconnects, `/abandoned/<name>` counts the disconnection.
 */
export async function startSpeechProvider() {
  const abandonedCalls = new Map<string, number>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('latin1');
    const name = /^\/abandoned\/(\w+)$/u.exec(request.url ?? '')?.[1];
    if (name !== undefined) return void response.end(String(abandonedCalls.get(name) ?? 0));
    const [, what, words = ''] = /\b(say|fail|wait):([^\r\n]*)/u.exec(text) ?? [];
    if (what === 'wait') {
      return void response.once('close', () => abandonedCalls.set(words, (abandonedCalls.get(words) ?? 0) + 1));
    }
    if (what === 'fail') return void response.writeHead(503).end();
    const isWebm = text.includes('filename="clip.webm"') && text.includes('\u001aE\u00df\u00a3');
    const language = /name="language"\r\n\r\n(\w+)/u.exec(text)?.[1];
    const segments = [{ avg_logprob: Math.log(0.75) }];
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ text: isWebm && words === '' ? recorded : words, language, segments }));
  });
  const url = `http://${await listen(server)}`;
  return {
    env: { STT_PROVIDER: 'openai', STT_URL: url },
    async stop(): Promise<void> {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
