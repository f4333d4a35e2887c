import { createLogger } from '../src/telemetry/log.ts';

/** The child process of `log.test.ts`: it logs, and ends in the way that its argument selects. */
const log = createLogger('child', { LOG_FILE: process.argv[2] });
let lines = 0;

process.on('message', (how) => {
  if (how === 'logs much') {
    const text = 'x'.repeat(1_000);
    for (let n = 0; n < 4_000; n++) log.info({ n: lines++, text }, 'one of many');
    return process.send?.('still here');
  }
  log.info('the last but one');
  log.info('the last');
  if (how === 'killed') process.kill(process.pid, 'SIGKILL');
  if (how === 'flushes') return log.flush(() => process.exit(3));
  process.exit(3);
});
