import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { eventually } from '@parley/chassis/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { watchTrees } from './watch-trees.ts';

function tree(t: ExecutionContext) {
  const root = mkdtempSync(join(tmpdir(), 'parley-watch-'));
  const at = (path: string) => join(root, path);
  const write = (path: string) => {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), `${Math.random()}`);
  };
  write('a/src/x.ts');
  write('a/src/graph/y.ts');
  const changes = watchTrees(['a/src'], { root, isWanted: (path) => path.endsWith('.ts') });
  t.teardown(() => {
    changes.close();
    rmSync(root, { recursive: true });
  });
  return { at, write, changes };
}

test('a changed file is told once, however often it was written', async (t) => {
  const { write, changes } = tree(t);
  for (let count = 0; count < 5; count += 1) write('a/src/x.ts');
  t.deepEqual(await changes.next(), ['a/src/x.ts']);

  write('a/src/graph/y.ts');
  write('a/src/x.ts');
  t.deepEqual(await changes.next(), ['a/src/graph/y.ts', 'a/src/x.ts']);
});

test('a file that an editor replaces by renaming is seen again and again', async (t) => {
  const { at, write, changes } = tree(t);
  for (let save = 0; save < 3; save += 1) {
    write('a/src/x.ts~');
    renameSync(at('a/src/x.ts~'), at('a/src/x.ts'));
    t.deepEqual(await changes.next(), ['a/src/x.ts']);
  }
});

test('new folders are watched too, with what is in them from the start', async (t) => {
  const { write, changes } = tree(t);
  write('a/src/new/deep/z.ts');
  t.deepEqual(await changes.next(), ['a/src/new/deep/z.ts']);
  write('a/src/new/deep/z.ts');
  t.deepEqual(await changes.next(), ['a/src/new/deep/z.ts']);
});

test('what is removed is told, and a folder that comes back is watched', async (t) => {
  const { at, write, changes } = tree(t);
  rmSync(at('a/src/graph'), { recursive: true });
  t.deepEqual(await changes.next(), ['a/src/graph/y.ts']);
  write('a/src/graph/y.ts');
  t.deepEqual(await changes.next(), ['a/src/graph/y.ts']);
  write('a/src/graph/y.ts');
  t.deepEqual(await changes.next(), ['a/src/graph/y.ts']);
});

test('what nobody wants wakes nobody, and what is forgotten is not told', async (t) => {
  const { write, changes } = tree(t);
  write('a/src/notes.txt');
  write('a/src/x.ts');
  t.deepEqual(await changes.next(), ['a/src/x.ts']);

  write('a/src/x.ts');
  const next = changes.next();
  await eventually('a change', () => changes.pending().length > 0);
  changes.forget(() => false);
  write('a/src/graph/y.ts');
  t.deepEqual(await next, ['a/src/graph/y.ts']);
});
