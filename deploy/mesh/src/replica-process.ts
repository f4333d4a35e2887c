import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { root } from '@parley/servers/root';
import type { Logs } from './logs.ts';

export interface ReplicaProcessOptions {
  name: string;
  /** The file that it runs. */
  main: string;
  env: NodeJS.ProcessEnv;
  /** Answers 200 while it can do its work. */
  readyUrl: string;
  logs: Logs;
  /** Told what a person should know: it ended, it is back. */
  say(text: string): void;
  /** Pause before the first restart, and the longest one; each is twice the last. Default 500 and 30,000. */
  backoffMs?: { first: number; longest: number };
}

/** One process that is kept running. */
export interface ReplicaProcess {
  readonly name: string;
  /** Undefined while it is down. */
  pid(): number | undefined;
  /** Resolves once it is ready. @throws Error with its last words where it ends before, or is not ready in time. */
  start(): Promise<void>;
  /** Asks it to end, and lets it rest from then on. Resolves when it is gone. */
  stop(): Promise<void>;
  /** At once. */
  kill(): void;
}

const readyTimeoutMs = 60_000;
const askAgainMs = 100;
/** Who has run for so long has recovered: its next crash is a new one. */
const settledAfterMs = 60_000;
const shownLines = 12;

export function replicaProcess(options: ReplicaProcessOptions): ReplicaProcess {
  const { name, main, env, readyUrl, logs, say, backoffMs = { first: 500, longest: 30_000 } } = options;
  const stopping = new AbortController();
  let child: ChildProcess | undefined;
  let gone: Promise<unknown> = Promise.resolve();

  /** Starts it once. Answers how it ended, with its last words. */
  function run(): Promise<{ how: string; lastWords: string }> {
    const spawned = spawn(process.execPath, ['--import', join(import.meta.dirname, 'end-with-parent.ts'), main], {
      cwd: root,
      env,
      detached: true, // Ctrl-C is for the supervisor to act on
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    child = spawned;
    const { stdout, stderr } = spawned;
    let words = '';
    if (stdout && stderr) {
      logs.follow(name, [stdout, stderr]);
      stderr.setEncoding('utf8').on('data', (text: string) => {
        words = `${words}${text}`.split('\n').slice(-shownLines).join('\n');
      });
    }
    return once(spawned, 'close').then(([code, signal]: unknown[]) => {
      child = undefined;
      return { how: signal ? String(signal) : `exit code ${String(code)}`, lastWords: words.trim() };
    });
  }

  /** Resolves when it is ready; rejects when it is not in time, and when `ended` aborts. */
  async function untilReady(ended: AbortSignal): Promise<void> {
    const deadline = performance.now() + readyTimeoutMs;
    while (performance.now() < deadline) {
      const answer = await fetch(readyUrl, { signal: AbortSignal.any([ended, AbortSignal.timeout(5_000)]) }).catch(
        () => undefined,
      );
      await answer?.body?.cancel();
      if (answer?.ok) return;
      await delay(askAgainMs, undefined, { signal: ended });
    }
    throw new Error(`${name} was not ready within ${readyTimeoutMs / 1000} s; its log tells more`);
  }

  async function keepRunning(): Promise<void> {
    let pauseMs = backoffMs.first;
    for (;;) {
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      const began = performance.now();
      const over = new AbortController();
      const running = run().finally(() => over.abort());
      untilReady(AbortSignal.any([over.signal, stopping.signal])).then(
        () => say(`${name} is back`),
        () => undefined,
      );
      const { how } = await running;
      if (stopping.signal.aborted) return;
      const settled = performance.now() - began > settledAfterMs;
      pauseMs = settled ? backoffMs.first : Math.min(2 * pauseMs, backoffMs.longest);
      say(`${name} has ended again (${how}) and is started in ${pauseMs / 1000} s`);
    }
  }

  return {
    name,
    pid: () => child?.pid,

    async start() {
      const over = new AbortController();
      const first = run().finally(() => over.abort());
      let isReady = false;
      gone = first.then(({ how }) => {
        if (stopping.signal.aborted || !isReady) return undefined;
        say(`${name} has ended (${how}) and is started again`);
        return keepRunning();
      });
      try {
        await untilReady(over.signal);
        isReady = true;
      } catch (error) {
        if (!over.signal.aborted) throw error;
        const { how, lastWords } = await first;
        throw new Error(lastWords ? `${name}: ${lastWords}` : `${name} ended with ${how} before it was ready`, {
          cause: error,
        });
      }
    },

    async stop() {
      stopping.abort();
      child?.kill('SIGTERM');
      await gone;
    },

    kill: () => void child?.kill('SIGKILL'),
  };
}
