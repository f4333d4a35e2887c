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

const readyTimeoutMs = 60_000;
const askAgainMs = 100;
/** Who has run for so long has recovered: its next crash is a new one. */
const settledAfterMs = 60_000;
const shownLines = 12;

/** One process that is kept running. */
export class ReplicaProcess {
  readonly name: string;
  readonly #options: ReplicaProcessOptions;
  readonly #stopping = new AbortController();
  #child: ChildProcess | undefined;
  #gone: Promise<unknown> = Promise.resolve();

  constructor(options: ReplicaProcessOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** Undefined while it is down. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Resolves once it is ready. @throws Error with its last words where it ends before, or is not ready in time. */
  async start(): Promise<void> {
    const ended = this.#run();
    this.#gone = ended;
    if (!(await this.#isReady())) {
      const { how, lastWords } = await ended;
      throw new Error(`${this.name}${lastWords ? `: ${lastWords}` : ` ended with ${how} before it was ready`}`);
    }
    this.#gone = this.#keep(ended);
  }

  /** Asks it to end, and lets it rest from then on. Resolves when it is gone. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#child?.kill('SIGTERM');
    await this.#gone;
  }

  /** At once. */
  kill(): void {
    this.#child?.kill('SIGKILL');
  }

  /** Runs it once, to its end. */
  async #run() {
    const { main, env, logs } = this.#options;
    const child = spawn(process.execPath, ['--import', join(import.meta.dirname, 'end-with-parent.ts'), main], {
      cwd: root,
      env,
      detached: true, // Ctrl-C is for the supervisor to act on
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#child = child;
    logs.follow(this.name, child);
    let words = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      words = `${words}${text}`.split('\n').slice(-shownLines).join('\n');
    });
    const [code, signal]: unknown[] = await once(child, 'close');
    this.#child = undefined;
    return { how: String(signal ?? `exit code ${String(code)}`), lastWords: words.trim() };
  }

  /** Resolves when it can do its work, or has ended before. @throws Error when neither happens in time. */
  async #isReady(): Promise<boolean> {
    const child = this.#child;
    for (const deadline = performance.now() + readyTimeoutMs; performance.now() < deadline; await delay(askAgainMs)) {
      if (this.#child !== child) return false;
      const signal = AbortSignal.timeout(5_000);
      const answer = await fetch(this.#options.readyUrl, { signal }).catch(() => undefined);
      await answer?.body?.cancel();
      if (answer?.ok) return true;
    }
    throw new Error(`${this.name} was not ready within ${readyTimeoutMs / 1000} s; its log tells more`);
  }

  /** Starts it again whenever it has ended, until it is to stop. */
  async #keep(running: Promise<{ how: string }>): Promise<void> {
    const { say, backoffMs: { first, longest } = { first: 500, longest: 30_000 } } = this.#options;
    const { signal } = this.#stopping;
    for (let pauseMs = 0; ; running = this.#run()) {
      const began = performance.now();
      if (pauseMs > 0) {
        const back = (isReady: boolean) => isReady && say(`${this.name} is back`);
        this.#isReady().then(back, () => undefined);
      }
      const { how } = await running;
      if (signal.aborted) return;
      const isNew = performance.now() - began > settledAfterMs;
      pauseMs = isNew ? first : Math.max(first, Math.min(2 * pauseMs, longest));
      say(`${this.name} has ended (${how}) and is started again in ${pauseMs / 1000} s`);
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
    }
  }
}
