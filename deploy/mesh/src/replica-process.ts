import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { backoff } from '@parley/kernel/timing/backoff';
import { root } from '@parley/servers/root';
import { untilItAnswers } from '@parley/servers/server';
import type { Logs } from './logs.ts';

export interface ReplicaProcessOptions {
  name: string;
  /** The file that the process runs. */
  main: string;
  env: NodeJS.ProcessEnv;
  /** The URL that returns 200 while the replica can work. */
  readyUrl: string;
  logs: Logs;
  /** Receives messages for the operator: the process has ended, the process runs again. */
  say(text: string): void;
  /** The pause before the first restart, and the longest pause. Each pause is twice the previous one. Default: 500 ms and 30,000 ms. */
  backoffMs?: { first: number; longest: number };
}

/**
 * The same V8 flags as in `scripts/up` and in tests: processes with different flags cannot share a compile cache. The flag slows down only
 * WebAssembly, and units have almost none.
 */
const nodeFlags = ['--liftoff-only'];
const readyTimeoutMs = 60_000;
const askTimeoutMs = 5_000;
/** A process that ran this long counts as recovered: after its next crash, the first pause applies again. */
const settledAfterMs = 60_000;
const shownLines = 12;

/** A process that is restarted whenever it ends. */
export class ReplicaProcess {
  readonly name: string;
  readonly #options: ReplicaProcessOptions;
  readonly #stopping = new AbortController();
  #child: ChildProcess | undefined;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(options: ReplicaProcessOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** The id of the process; undefined while the process is down. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Starts the process. Resolves when the replica is ready.
   * @throws Error with the last part of the process's standard error, if the process ends first or is not ready in time
   */
  async start(): Promise<void> {
    const { ready, ended } = this.#run();
    this.#ended = ended;
    await ready.catch((cause: unknown) => {
      throw new Error(`${this.name}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    });
    this.#ended = this.#keep(ended);
  }

  /** Sends SIGTERM and prevents restarts. Resolves when the process has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#child?.kill('SIGTERM');
    await this.#ended;
  }

  /** Sends SIGKILL. */
  kill(): void {
    this.#child?.kill('SIGKILL');
  }

  /**
   * Runs the program once. `ended` resolves with the signal or exit code. If the process ends before it is ready, `ready` rejects with the
   * last part of its standard error.
   */
  #run() {
    const { main, env, logs, readyUrl } = this.#options;
    const preloaded = ['keep-compiled.ts', 'end-with-parent.ts'].flatMap((file) => [
      '--import',
      join(import.meta.dirname, file),
    ]);
    const child = spawn(process.execPath, [...nodeFlags, ...preloaded, main], {
      cwd: root,
      env,
      detached: true, // Ctrl-C must reach only the supervisor
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#child = child;
    logs.follow(this.name, child);
    let lastLines = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      lastLines = `${lastLines}${text}`.split('\n').slice(-shownLines).join('\n');
    });
    const over = new AbortController();
    const ended = once(child, 'close').then(([code, signal]: unknown[]) => {
      this.#child = undefined;
      const how = String(signal ?? `exit code ${String(code)}`);
      over.abort(new Error(lastLines.trim() || `it ended with ${how}`));
      return how;
    });
    const ask = async () => {
      const answer = await fetch(readyUrl, { signal: AbortSignal.timeout(askTimeoutMs) });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`it answers ${answer.status}`);
    };
    const readySignal = AbortSignal.any([over.signal, AbortSignal.timeout(readyTimeoutMs)]);
    const readied = async () => {
      await untilItAnswers(ask, readySignal);
      if (child.connected) child.send('ready', () => undefined); // the process may have ended
    };
    return { ended, ready: readied() };
  }

  /** Restarts the process whenever it ends, until `stop` is called. */
  async #keep(first: Promise<string>): Promise<void> {
    const { say, backoffMs = { first: 500, longest: 30_000 } } = this.#options;
    const { signal } = this.#stopping;
    let ended = first;
    const pauseAfter = backoff({ firstMs: backoffMs.first, maxMs: backoffMs.longest });
    for (let failures = 0; ; ) {
      const began = performance.now();
      const how = await ended;
      if (signal.aborted) return;
      const isNew = performance.now() - began > settledAfterMs;
      failures = isNew ? 1 : failures + 1;
      const pauseMs = pauseAfter(failures);
      say(`${this.name} has ended (${how}) and is restarted in ${pauseMs / 1000} s`);
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const next = this.#run();
      void next.ready.then(() => say(`${this.name} is back`)).catch(() => undefined);
      ended = next.ended;
    }
  }
}
