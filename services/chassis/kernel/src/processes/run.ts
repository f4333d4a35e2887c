import { flushCompileCache } from 'node:module';
import type { Logger } from '../telemetry/log.ts';
import type { Addresses } from './addresses.ts';
import type { Part } from './unit.ts';

/** How long stopping may take, in ms; the Helm chart's grace period is longer. */
export const longestStopMs = 25_000;

export interface RunOptions {
  log: Logger;
  addresses?: Pick<Addresses, 'announced'>;
  /** How long stopping may take, in ms, before the process exits with code 1. Default `longestStopMs`. */
  stopTimeoutMs?: number;
  /** Resolves when a dependency of the parts has ended. Everything is then stopped, with exit code 1. */
  failed?: Promise<Error>;
  onReady?: () => void | Promise<void>;
}

/**
 * Starts the parts in order, waits for SIGINT or SIGTERM, stops them in reverse order and exits. Nothing else listens to signals. A
 * failed start prints one message and exits with code 1; a second signal exits at once.
 */
export async function run(
  parts: Part[],
  { log, addresses, stopTimeoutMs = longestStopMs, failed, onReady }: RunOptions,
): Promise<void> {
  const started: Part[] = [];
  let receivedSignal: NodeJS.Signals | undefined;
  let stopping: Promise<void> | undefined;

  const stop = (exitCode: number): Promise<void> => {
    stopping ??= (async () => {
      const timer = setTimeout(() => {
        log.error({ timeoutMs: stopTimeoutMs }, 'did not stop in time');
        process.exit(1);
      }, stopTimeoutMs);
      timer.unref();
      let code = exitCode;
      for (let part = started.pop(); part; part = started.pop()) {
        await part.stop().catch((error: unknown) => {
          log.error({ err: error, part: part?.name }, 'part did not stop cleanly');
          code ||= 1;
        });
      }
      log.info({ signal: receivedSignal, code }, 'stopped');
      log.flush(() => process.exit(code));
    })();
    return stopping;
  };

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(1);
      receivedSignal = signal;
      log.debug({ signal }, 'stopping');
      void stop(0);
    });
  }

  const stopOnFailure = async (reason: Promise<Error>): Promise<void> => {
    const error = await reason;
    if (stopping) return;
    log.error({ err: error }, 'process failed');
    process.stderr.write(`${startFailure(error)}\n`);
    await stop(1);
  };
  if (failed) void stopOnFailure(failed);

  try {
    for (const part of parts) {
      if (stopping) return;
      await part.start();
      started.push(part);
    }
    await onReady?.();
    log.info({ addresses: addresses?.announced() }, 'ready');
    // With NODE_COMPILE_CACHE, the next process finds the compiled code even if this process is killed.
    flushCompileCache();
  } catch (error) {
    if (stopping) return;
    log.debug({ err: error }, 'start failed');
    process.stderr.write(`${startFailure(error)}\n`);
    await stop(1);
  }
}

/** Returns the message for the operator when a start fails. */
function startFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const listen = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (listen.code === 'EADDRINUSE') return `Port ${listen.port} on ${listen.address} is taken by another program.`;
  return error.message;
}
