import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { sourceChanges } from './source-changes.ts';

/** A checkout that is watched; `next` answers what changed since the last time, once it has been quiet for a moment. */
async function watched(t: ExecutionContext) {
  const root = mkdtempSync(join(tmpdir(), 'parley-watch-'));
  const at = (path: string) => join(root, path);
  const write = (...paths: string[]) => {
    for (const path of paths) {
      mkdirSync(dirname(at(path)), { recursive: true });
      writeFileSync(at(path), `${Math.random()}`);
    }
  };
  write('gateway/src/main.ts', 'services/agent/src/graph/y.ts', 'protos/parley/a.proto', 'protos/gen/a.ts');
  const leaving = new AbortController();
  const changes = sourceChanges(root, leaving.signal);
  const next = async () => (await changes.next()).value;
  const leave = async () => {
    leaving.abort();
    return next();
  };
  t.teardown(async () => {
    await leave();
    rmSync(root, { recursive: true });
  });
  t.deepEqual(await next(), []);
  return { at, write, next, leave };
}

test('what runs, protos and schemas included, counts as source, each file once however often it is written', async (t) => {
  const { write, next, leave } = await watched(t);
  const sources = ['gateway/src/main.ts', 'protos/parley/a.proto', 'services/agent/src/schema.graphql'];
  write(...sources, ...sources);
  t.deepEqual(await next(), sources);

  write('gateway/src/main.test.ts', 'services/agent/src/testing/gate.ts', 'gateway/src/.x.ts', 'gateway/src/x.ts~');
  write('gateway/src/.main.ts.swp', 'protos/gen/a.ts', 'services/agent/src/generated/a.ts', 'gateway/main.ts');
  write('gateway/src/main.ts');
  t.deepEqual(await next(), ['gateway/src/main.ts']);
  t.is(await leave(), undefined);
});

test('files that editors replace by renaming, new folders, and folders that go and come back are seen again and again', async (t) => {
  const { at, write, next } = await watched(t);
  for (let save = 0; save < 3; save += 1) {
    write('gateway/src/main.ts~');
    renameSync(at('gateway/src/main.ts~'), at('gateway/src/main.ts'));
    t.deepEqual(await next(), ['gateway/src/main.ts']);
  }
  for (let save = 0; save < 2; save += 1) {
    write('gateway/src/new/deep/z.ts');
    t.deepEqual(await next(), ['gateway/src/new/deep/z.ts']);
  }
  rmSync(at('services/agent/src/graph'), { recursive: true });
  t.deepEqual(await next(), ['services/agent/src/graph/y.ts']);
  for (let save = 0; save < 2; save += 1) {
    write('services/agent/src/graph/y.ts');
    t.deepEqual(await next(), ['services/agent/src/graph/y.ts']);
  }
});
