import { once } from 'node:events';
import { globSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { watch } from 'chokidar';

/** The watched folders. `protos/gen`, the supergraph and `generated/` are not watched, because they are generated from watched files. */
const folders = [
  'gateway/src',
  'services/*/src',
  'services/chassis/*/src',
  'protos/parley',
  'protos/*.ts',
  'deploy/{local,units}/src',
  'scripts/src/up',
];
/** Excludes tests and the temporary files of editors. */
const ignored = /(\.test\.ts$|\/(testing|generated)\/|\/[.#])/u;
const source = /\.(ts|graphql|proto|json|liquid)$/u;

/** A burst of events has ended when no event arrives for this time in ms. A save causes several events, a branch checkout many. */
const settleMs = 150;

/** Yields an empty list once the watcher is ready, then after each burst of changes the changed source files. Ends when `signal` aborts. */
export async function* sourceChanges(root: string, signal: AbortSignal): AsyncGenerator<string[]> {
  const changed = new Set<string>();
  let events = 0;
  let wake = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => wake.resolve());
  const watcher = watch(globSync(folders, { cwd: root }), { cwd: root, ignoreInitial: true });
  watcher.on('all', (_event, path) => {
    if (!source.test(path) || ignored.test(path)) return;
    changed.add(path);
    events += 1;
    wake.resolve();
  });
  try {
    await once(watcher, 'ready');
    yield [];
    while (!signal.aborted) {
      await wake.promise;
      const seen = events;
      await delay(settleMs, undefined, { signal }).catch(() => undefined);
      if (events > seen || signal.aborted) continue;
      wake = Promise.withResolvers();
      const paths = [...changed].toSorted();
      changed.clear();
      yield paths;
    }
  } finally {
    await watcher.close();
  }
}
