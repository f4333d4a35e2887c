import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '@parley/servers/ports';
import { untilItAnswers } from '@parley/servers/server';
import { asMessages, firstContentMs, withoutSocket } from './client.ts';
import { cpuOf } from './costs.ts';
import { installOther, scriptsOf } from './others.ts';
import type { BenchOptions } from './processes.ts';

/** The maximum number of concurrent runs; a setting of the server at its start. */
const maxAtOnce = 16;

/**
 * Starts LangGraph's Agent Server in memory (`langgraph dev`). Its graph has one node, which calls the model.
 * @param folder the folder for its files
 * @returns undefined if this machine cannot install the server
 */
export async function startLangGraph(modelUrl: string, folder: string, options: BenchOptions) {
  const installed = await installOther('langgraph', options);
  if (!installed) return undefined;
  const cwd = join(folder, 'langgraph');
  cpSync(scriptsOf('langgraph'), cwd, { recursive: true });
  const [port] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const args = ['-m', 'langgraph_cli', 'dev', '--no-browser', '--no-reload'];
  const child = spawn('python3', [...args, '--n-jobs-per-worker', String(maxAtOnce), '--port', String(port)], {
    cwd,
    env: {
      ...process.env,
      PYTHONPATH: installed,
      MODEL_URL: modelUrl,
      LANGSMITH_TRACING: 'false',
      LANGGRAPH_CLI_NO_ANALYTICS: '1',
    },
    stdio: 'ignore',
  });
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  const over = new AbortController();
  const ended = once(child, 'exit').then(([code]) => {
    process.off('exit', kill);
    return over.abort(new Error(`LangGraph's Agent Server ended with ${code} before it was up`));
  });
  await untilItAnswers(() => fetch(`${url}/ok`), over.signal);

  return {
    name: "LangGraph's Agent Server",
    maxAtOnce,
    async open() {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${url}/threads`, { method: 'POST', headers, body: '{}' });
      const { thread_id } = (await response.json()) as { thread_id: string };
      return withoutSocket((content) => {
        const { messages } = asMessages(content);
        const run = { assistant_id: 'agent', input: { messages }, stream_mode: ['messages-tuple'] };
        return firstContentMs(`${url}/threads/${thread_id}/runs/stream`, run);
      });
    },
    cpu: () => cpuOf([{ name: 'langgraph', pid: child.pid ?? 0 }]),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      const late = setTimeout(kill, 5_000);
      await ended;
      clearTimeout(late);
    },
  };
}
