import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { changedPaths } from '../history.ts';
import { root } from '../root.ts';
import { breaks, type SelectOptions, select, wrongBreak } from './select.ts';
import { byProcess, testedWorkspaces } from './workspaces.ts';

const all: SelectOptions = { only: [], texts: [], faults: false };

/** Creates a git checkout whose workspace `stories` has a fault test about `gateway/`. */
function checkout(t: ExecutionContext, tests: object = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-select-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const git = (date: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: folder,
      stdio: 'ignore',
      env: { ...process.env, GIT_COMMITTER_DATE: date, GIT_AUTHOR_DATE: date },
    });
  const commit = (date: string) => {
    git(date, 'add', '-A');
    git(date, 'commit', '-qm', 'x');
  };
  write('package.json', JSON.stringify({ workspaces: ['*'], nx: { targets: { lint: { command: 'true' } } } }));
  const declared = {
    needs: ['meshes', 'redis'],
    faults: ['faults/**'],
    whenChanged: { 'faults/slow.test.ts': ['gateway/'], 'faults/part.test.ts': [] },
  };
  write('stories/package.json', JSON.stringify({ parley: { tests: { ...declared, ...tests } } }));
  write('stories/talk.test.ts', '');
  write('stories/faults/slow.test.ts', '');
  write('stories/faults/kill.test.ts', '');
  write('stories/faults/part.test.ts', '');
  write('gateway/package.json', '{}');
  write('gateway/a.test.ts', '');
  git('2026-01-01T00:00:00Z', 'init', '-q', '-b', 'main');
  commit('2026-01-01T00:00:00Z');
  return { folder, write, commit, git };
}

test('all workspaces with tests in this checkout are found, with their declarations and files', (t) => {
  const workspaces = testedWorkspaces(root);
  const stories = workspaces.find(({ name }) => name === 'stories');
  t.true(stories?.needs.includes('meshes'));
  for (const { folder, files, whenChanged } of workspaces) {
    for (const file of [...files, ...Object.keys(whenChanged).map((name) => join(folder, name))]) {
      t.true(existsSync(join(root, file)), file);
    }
  }
});

test('a test of a nested workspace belongs only to the nested one', (t) => {
  const { folder, write } = checkout(t);
  write('package.json', JSON.stringify({ workspaces: ['*', 'gateway/inner'] }));
  write('gateway/inner/package.json', '{}');
  write('gateway/inner/src/b.test.ts', '');
  const files = Object.fromEntries(testedWorkspaces(folder).map((each) => [each.name, each.files]));
  t.deepEqual(files['gateway'], ['gateway/a.test.ts']);
  t.deepEqual(files['inner'], ['gateway/inner/src/b.test.ts']);
});

test('every pattern of files that share a process matches several files', (t) => {
  for (const workspace of testedWorkspaces(root)) {
    const shared = byProcess(workspace).filter((files) => files.length > 1);
    t.is(shared.length, workspace.together.length, workspace.folder);
  }
});

test('every file that shares a process declares tests, because ava only sees that the process has some', (t) => {
  const declares = /^[^/*\n]*\b(\w*[tT]est(\.\w+)*\(|story\(|\w+\(test\b)/mu;
  const shared = testedWorkspaces(root).flatMap((each) => byProcess(each).filter((files) => files.length > 1));
  const without = shared.flat().filter((file) => !declares.test(readFileSync(join(root, file), 'utf8')));
  t.deepEqual(without, []);
});

test('every file whose tests another file runs is imported by that file, or runs with --faults', (t) => {
  for (const { folder, files, faults, whenChanged } of testedWorkspaces(root)) {
    const texts = files.map((file) => readFileSync(join(root, file), 'utf8'));
    for (const [name, about] of Object.entries(whenChanged)) {
      if (about.length > 0) continue;
      const isImported = texts.some((text) => text.includes(`/${basename(name)}'`));
      t.true(isImported || faults.includes(name), `${folder}/${name} runs in no ordinary run`);
    }
  }
});

test('a workspace with an unknown declaration is reported', (t) => {
  const { folder } = checkout(t, { needs: ['mongodb'] });
  t.throws(() => testedWorkspaces(folder), { message: /^stories\/package\.json, parley\.tests: .*needs/su });
});

test('a run needs only the resources that its files declare', (t) => {
  const { folder } = checkout(t);
  t.deepEqual(select(folder, all).needs, ['redis', 'meshes']);
  t.deepEqual(select(folder, { ...all, texts: ['gateway/'] }), {
    checks: [],
    files: ['gateway/a.test.ts'],
    workspaces: testedWorkspaces(folder).filter(({ name }) => name === 'gateway'),
    needs: [],
    unchanged: [],
    full: false,
    cluster: false,
  });
  t.deepEqual(select(folder, { ...all, only: ['lint'] }).checks, [{ name: 'lint', command: 'true' }]);
  t.deepEqual(select(folder, { ...all, only: ['lint'] }).files, []);
});

test('--faults selects only fault tests, at full length, without shared meshes', (t) => {
  const { files, needs, full, checks } = select(checkout(t).folder, { ...all, faults: true });
  t.deepEqual(
    files.toSorted(),
    ['kill', 'part', 'slow'].map((name) => `stories/faults/${name}.test.ts`),
  );
  t.deepEqual({ needs, full, checks }, { needs: ['redis'], full: true, checks: [] });
});

test('--cluster selects the stories of the cluster, which do not run without it', (t) => {
  const { folder, write } = checkout(t, { cluster: ['cluster/**'] });
  const story = 'stories/cluster/drain.test.ts';
  write(story, '');
  const { files, checks, cluster } = select(folder, { ...all, cluster: true });
  t.deepEqual({ files, checks, cluster }, { files: [story], checks: [], cluster: true });
  t.deepEqual(select(folder, { ...all, cluster: true, texts: ['drain'] }).files, [story]);
  for (const options of [all, { ...all, faults: true }, { ...all, texts: ['drain'] }])
    t.false(select(folder, options).files.includes(story));
});

test('--break accepts the words that stories of the cluster read, and only with --cluster', (t) => {
  const stories = globSync(join(root, 'deploy/cluster/stories/*.test.ts')).map((file) => readFileSync(file, 'utf8'));
  const read = stories.flatMap((text) => [...text.matchAll(/broken === '(\w+)'/gu)].map(([, word = '']) => word));
  t.deepEqual([...new Set(read)].toSorted(), [...breaks].toSorted());
  t.is(wrongBreak('pdb', { cluster: true }), undefined);
  t.is(wrongBreak('pbd', { cluster: true }), '--break pbd: unknown; known are policy, pdb, prestop');
  t.is(wrongBreak('pdb', { cluster: false }), '--break is an option of --cluster');
});

test('a file whose tests another file runs is skipped unless it is named', (t) => {
  const { folder } = checkout(t);
  const part = 'stories/faults/part.test.ts';
  t.false(select(folder, all).files.includes(part));
  t.deepEqual(select(folder, { ...all, texts: ['faults/part'] }).files, [part]);
});

test('a file with `whenChanged` runs if one of its paths has changed, or if it is named', (t) => {
  const { folder, write, commit, git } = checkout(t);
  const runs = (options = all) => select(folder, options).files.includes('stories/faults/slow.test.ts');
  t.true(runs(), 'there is no history to tell');

  write('README.md', 'one');
  commit('2026-01-03T00:00:00Z');
  t.deepEqual(changedPaths(folder), ['README.md']);
  t.false(runs());
  t.true(runs({ ...all, texts: ['slow'] }));
  t.true(runs({ ...all, faults: true }));

  write('gateway/b.ts', '');
  t.true(runs(), 'not committed yet');
  commit('2026-01-03T01:00:00Z');
  write('README.md', 'two');
  commit('2026-01-03T02:00:00Z');
  t.true(runs(), 'on main, within a day of its last commit');

  git('2026-01-05T00:00:00Z', 'checkout', '-qb', 'branch');
  write('README.md', 'three');
  commit('2026-01-05T00:00:00Z');
  t.deepEqual(changedPaths(folder), ['README.md'], 'since the branch left main');
  t.false(runs());

  write('.git/index', 'damaged');
  t.is(changedPaths(folder), undefined, 'git cannot tell');
  t.true(runs());
});
