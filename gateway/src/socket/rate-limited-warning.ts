import type { Logger } from '@parley/kernel/telemetry/log';

const everyMs = 30_000;

/** Logs the first warning at once and later ones together, with their count. */
export function rateLimitedWarning(log: Pick<Logger, 'warn'>, message: string): (error: unknown) => void {
  let timer: NodeJS.Timeout | undefined;
  let count = 0;
  let newest: unknown;

  function write(): void {
    timer = undefined;
    if (count === 0) return;
    log.warn({ err: newest, count }, message);
    count = 0;
    newest = undefined;
    timer = setTimeout(write, everyMs).unref();
  }

  return (error) => {
    count += 1;
    newest = error;
    if (!timer) write();
  };
}
