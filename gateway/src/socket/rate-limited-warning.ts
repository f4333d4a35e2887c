import type { Logger } from '@parley/chassis/log';

/** How often at most one is logged, in ms. */
const everyMs = 30_000;

/** A warning that may come up any number of times: the first is logged at once, those after it together, with how many there were. */
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
