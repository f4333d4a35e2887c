import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { root as checkout } from '../root.ts';
import { sourceChanges } from './source-changes.ts';

const usual = ['gateway/src/main.ts', 'services/agent/src/graph/y.ts', 'protos/parley/a.proto', 'protos/gen/a.ts'];

/**
 * Creates and watches a checkout with these files. `next` waits until no file changes for a moment, then returns the changes since its last
 * call.
 */
async function watched(t: ExecutionContext, files = usual) {
  const root = mkdtempSync(join(tmpdir(), 'parley-watch-'));
  const at = (path: string) => join(root, path);
  const write = (...paths: string[]) => {
    for (const path of paths) {
      mkdirSync(dirname(at(path)), { recursive: true });
      writeFileSync(at(path), `${Math.random()}`);
    }
  };
  write(...files);
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

test('sources include protos and schemas, and a file that is written several times is reported once', async (t) => {
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

test('changes are seen in files replaced by renaming, in new folders, and in folders that are deleted and created again', async (t) => {
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

test('all workspaces whose code the mesh runs are watched', async (t) => {
  const files = runningSources();
  t.true(files.length > 10);
  const { write, next } = await watched(t, files);
  write(...files);
  const unseen = new Set(files);
  void (async () => {
    for (let paths = await next(); paths; paths = await next()) for (const path of paths) unseen.delete(path);
  })();
  await eventually('every file has been seen', () => unseen.size === 0).catch(() => undefined);
  t.deepEqual([...unseen], []);
});

/** Returns one file in `src` of `@parley/local` and of each workspace that it depends on, and the handwritten files in protos. */
function runningSources(): string[] {
  const manifestOf = (folder: string) => JSON.parse(readFileSync(join(checkout, folder, 'package.json'), 'utf8'));
  const patterns: string[] = manifestOf('.').workspaces;
  const manifests = globSync(patterns, { cwd: checkout })
    .filter((folder) => existsSync(join(checkout, folder, 'package.json')))
    .map((folder) => ({ folder, ...manifestOf(folder) }));
  const byName = new Map(manifests.map((each) => [each.name, each]));
  const names = new Set(['@parley/local']);
  for (const name of names) for (const next of Object.keys(byName.get(name)?.dependencies ?? {})) names.add(next);
  return manifests
    .filter(({ name, folder }) => names.has(name) && existsSync(join(checkout, folder, 'src')))
    .map(({ folder }) => `${folder}/src/a.ts`)
    .concat('protos/announcements.ts');
}
