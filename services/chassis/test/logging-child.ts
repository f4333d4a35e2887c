import { createLogger } from '../src/log.ts';

/** A process of its own for `log.test.ts`: it logs its last lines and ends, in the way that it is told. */
const log = createLogger('child', {});

process.once('message', (how) => {
  log.info('the last but one');
  log.info('the last');
  if (how === 'killed') process.kill(process.pid, 'SIGKILL');
  process.exit(3);
});
