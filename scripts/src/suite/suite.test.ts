import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { root } from '../root.ts';
import { readTimes } from './ava-run.ts';
import { select } from './select.ts';
import { runSuite, type SuiteOptions } from './suite.ts';

// The tests run one after the other, because each starts ava, which uses all processors.

/** Creates a checkout with these test files, by path, in the workspaces `one` and `two`, and with one check. */
function checkout(t: ExecutionContext, files: Record<string, string>, { check = 'true', timeout = '60s' } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-suite-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  for (const name of ['.bin', 'ava', '@parley', 'zod']) {
    mkdirSync(join(folder, 'node_modules'), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  }
  write('package.json', JSON.stringify({ workspaces: ['*'], nx: { targets: { look: { command: check } } } }));
  const observe = JSON.stringify(join(import.meta.dirname, 'ava-run.ts'));
  const load = JSON.stringify(join(import.meta.dirname, 'testing/load-together.ts'));
  write(
    'ava.config.mjs',
    `import { observeRun } from ${observe};
     const nonSemVerExperiments = { observeRunsFromConfig: true };
     export default { extensions: ['ts'], workerThreads: false, require: [${load}], timeout: '${timeout}', nonSemVerExperiments, observeRun };`,
  );
  write('one/package.json', '{ "type": "module" }');
  write('two/package.json', JSON.stringify({ type: 'module', parley: { tests: { once: ['**'] } } }));
  for (const [path, body] of Object.entries(files)) write(path, `import test from 'ava';\n${body}`);

  return {
    folder,
    write,
    async run({ cluster = false, ...options }: Partial<SuiteOptions> & { cluster?: boolean } = {}) {
      const said: string[] = [];
      const isGreen = await runSuite(select(folder, { only: [], texts: [], faults: false, cluster }), {
        root: folder,
        ci: true,
        signal: new AbortController().signal,
        say: (line) => said.push(line),
        ...options,
      });
      return { isGreen, said: said.join('\n'), last: said.slice(-2) };
    },
  };
}

/** Code of a test that fails `times` times, then passes. */
const failing = (times: number) => `
  import { appendFileSync, readFileSync } from 'node:fs';
  const file = import.meta.filename + '.count';
  test('it is there the next time', (t) => {
    appendFileSync(file, 'x');
    t.true(readFileSync(file, 'utf8').length > ${times}, 'the first failure');
  });`;

test.serial(
  'tests and checks that pass are counted, skipped ones apart, and how long files took is kept',
  async (t) => {
    const { run, folder } = checkout(t, {
      'one/a.test.ts': "test('one', (t) => t.pass()); test.skip('two', (t) => t.pass()); test.todo('three');",
      'two/b.test.ts': "test('four', (t) => t.pass()); test.failing('five', (t) => t.fail());",
    });
    const { isGreen, said, last } = await run();
    t.true(isGreen, said);
    t.deepEqual(last, ['0 unsteady', '3 passed, 0 failed']);
    t.regex(said, /^3 skipped$/mu);
    t.deepEqual(Object.keys(readTimes(folder)).toSorted(), ['one/a.test.ts', 'two/b.test.ts']);
  },
);

test.serial('files that a workspace declares together share a process, and the results of each count', async (t) => {
  const one = (title: string) => `test('${title}', (t) => t.is((globalThis.count = (globalThis.count ?? 0) + 1), 2));`;
  const { run, write } = checkout(t, {
    'one/a.test.ts': one('a'),
    'one/b.test.ts': one('b'),
    'one/c.test.ts': one('c'),
  });
  write('one/package.json', JSON.stringify({ type: 'module', parley: { tests: { together: ['{a,b}.test.ts'] } } }));
  const { said, last } = await run({ ci: false });
  t.is(last[1], '2 passed, 2 failed', said); // in b, which runs before a, the count is 1; c runs in its own process, so its count is 1, too
  t.regex(said, / › b$/mu);
});

test.serial('stories of a cluster run in the order of their names, and a failed one is not repeated', async (t) => {
  const story = (name: string, wait: number) => `
    import { appendFileSync } from 'node:fs';
    test('story ${name}', async (t) => {
      appendFileSync(import.meta.dirname + '/order', '${name}');
      await new Promise((resolve) => setTimeout(resolve, ${wait}));
      t.is('${name}', 'b');
    });`;
  const { run, folder, write } = checkout(t, { 'one/1-a.test.ts': story('a', 0), 'one/2-b.test.ts': story('b', 300) });
  write('one/package.json', JSON.stringify({ type: 'module', parley: { tests: { cluster: ['**'] } } }));
  for (const expected of ['ab', 'abab']) {
    const { said, last } = await run({ cluster: true });
    t.deepEqual(last, ['0 unsteady', '1 passed, 1 failed'], said);
    t.is(readFileSync(join(folder, 'one/order'), 'utf8'), expected); // in the first run, b took longer than a, and a failed
  }
});

test.serial("every kind of problem is a failure, and ava's report of it is shown", async (t) => {
  const { run } = checkout(
    t,
    {
      'two/throws.test.ts': "throw new Error('at import');",
      'two/none.test.ts': '',
      'two/hook.test.ts': "test.before(() => { throw new Error('in a hook'); }); test('never', (t) => t.pass());",
      'two/exits.test.ts': "test('leaves', () => process.exit(0));",
      'two/bad.test.ts': "test('good', (t) => t.pass()); test('bad', (t) => t.is(1, 2));",
    },
    { check: 'echo the check has an opinion; false' },
  );
  const { isGreen, said, last } = await run();
  t.false(isGreen);
  t.is(last[1], '1 passed, 6 failed', said);
  for (const shown of ['the check has an opinion', 'at import', 'in a hook', 'Difference']) {
    t.true(said.includes(shown), `${shown} in\n${said}`);
  }
  t.notRegex(said, /✔ bad › good/u);
});

test.serial("a file that exits early has failed, also if another file explains ava's exit code", async (t) => {
  const { run } = checkout(t, {
    'one/a.test.ts': failing(1),
    'two/exits.test.ts': "test('one', (t) => t.pass()); test.after(() => process.exit(0));",
  });
  const { isGreen, said, last } = await run();
  t.false(isGreen, said);
  t.deepEqual(last, ['1 unsteady', '3 passed, 1 failed']);
});

test.serial('a file whose hook hangs after all tests have passed has failed', async (t) => {
  const hangs =
    "test('one', (t) => t.pass()); test.after.always(() => new Promise(() => setInterval(() => {}, 1000)));";
  const { run } = checkout(t, { 'two/a.test.ts': hangs }, { timeout: '3s' });
  const { isGreen, last } = await run();
  t.false(isGreen);
  t.is(last[1], '2 passed, 1 failed');
});

test.serial('a test that hangs has failed, and its title is reported', async (t) => {
  const { run } = checkout(
    t,
    {
      'two/a.test.ts':
        "test('hangs', () => new Promise(() => setInterval(() => {}, 1000))); test('b', (t) => t.pass());",
    },
    { timeout: '3s' },
  );
  const { said, last } = await run();
  t.is(last[1], '2 passed, 1 failed');
  t.regex(said, /◌ .*hangs/u);
});

test.serial(
  'a file that fails under CI is run once more and counted as unsteady; what it said at first is shown',
  async (t) => {
    const { run } = checkout(t, { 'one/a.test.ts': failing(1), 'one/b.test.ts': "test('b', (t) => t.pass());" });
    const { isGreen, said, last } = await run();
    t.true(isGreen, said);
    t.deepEqual(last, ['1 unsteady', '3 passed, 0 failed']);
    t.regex(said, /the first failure/u);
    t.regex(said, /one\/a\.test\.ts failed at first, and passed/u);
    t.regex(
      said.split('\n').slice(-8).join('\n'),
      /^✘ a › it is there.*$[^]*^✘ one\/a\.test\.ts \(passed when it was run again\)$/mu,
    );
  },
);

test.serial('a file that fails twice has failed, and a file declared as `once` is not run again', async (t) => {
  const { run } = checkout(t, { 'one/a.test.ts': failing(2), 'two/b.test.ts': failing(1) });
  const { isGreen, last } = await run();
  t.false(isGreen);
  t.deepEqual(last, ['0 unsteady', '1 passed, 2 failed']);
});

test.serial('more than two unsteady files fail the run', async (t) => {
  const { run } = checkout(t, Object.fromEntries([1, 2, 3].map((n) => [`one/${n}.test.ts`, failing(1)])));
  const { isGreen, last } = await run();
  t.false(isGreen);
  t.deepEqual(last, ['3 unsteady', '4 passed, 1 failed']);
});

test.serial('outside CI a failed file is not run again', async (t) => {
  const { run } = checkout(t, { 'one/a.test.ts': failing(1) });
  const { isGreen, last } = await run({ ci: false });
  t.false(isGreen);
  t.is(last[1], '1 passed, 1 failed');
});

/** A package.json of workspace `one` that makes the workspace's files share a process. */
const shared = (once: string[] = []) =>
  JSON.stringify({ type: 'module', parley: { tests: { together: ['**'], once } } });

/** Makes `count` files that each fail once, with different titles. */
const unsteadyFiles = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`one/${n}.test.ts`, failing(1).replace('it is', `${n} is`)]),
  );

test.serial('each test that fails only in the first run of a shared process is unsteady', async (t) => {
  const { run, write } = checkout(t, unsteadyFiles(3));
  write('one/package.json', shared());
  const { isGreen, said, last } = await run();
  t.false(isGreen);
  t.deepEqual(last, ['3 unsteady', '4 passed, 1 failed'], said);
});

test.serial('an error that leaves tests of several files unfinished is one unsteady file', async (t) => {
  const { run, write } = checkout(t, {
    'one/a.test.ts': `
      import { existsSync, writeFileSync } from 'node:fs';
      const mark = import.meta.filename + '.mark';
      test.serial('a', async (t) => {
        if (!existsSync(mark)) {
          writeFileSync(mark, '');
          setImmediate(() => { throw new Error('nobody catches it'); });
          await new Promise((resolve) => setTimeout(resolve, 10_000));
        }
        t.pass();
      });`,
    ...Object.fromEntries(
      ['b', 'c', 'd'].map((name) => [`one/${name}.test.ts`, `test.serial('${name}', (t) => t.pass());`]),
    ),
  });
  write('one/package.json', shared());
  const { isGreen, said, last } = await run();
  t.true(isGreen, said);
  t.deepEqual(last, ['1 unsteady', '5 passed, 0 failed']);
});

test.serial('a process with a file that is never run again is not run again', async (t) => {
  const { run, write } = checkout(t, unsteadyFiles(2));
  write('one/package.json', shared(['1.test.ts']));
  const { last } = await run();
  t.deepEqual(last, ['0 unsteady', '1 passed, 2 failed']);
});

/** Returns a function that starts engines immediately, except for engines that this machine cannot run. */
const engines =
  (missing: string[], problems: string[] = []) =>
  async () => ({
    env: {},
    missing,
    stop: async () => problems,
  });

test.serial('a missing engine fails a run in CI only', async (t) => {
  const { run } = checkout(t, { 'one/a.test.ts': "test('a', (t) => t.pass());" });
  const start = engines(['kafka: there is no Java']);
  const person = await run({ ci: false, start });
  t.true(person.isGreen);
  t.regex(person.said, /left out: kafka: there is no Java/u);
  const ci = await run({ start });
  t.false(ci.isGreen);
  t.is(ci.last[1], '2 passed, 1 failed');
});

test.serial('engines that do not start, and meshes with problems at the end, fail a run', async (t) => {
  const { run } = checkout(t, { 'one/a.test.ts': "test('a', (t) => t.pass());" });
  const none = await run({ start: () => Promise.reject(new Error('the disk is full')) });
  t.false(none.isGreen);
  t.regex(none.said, /the disk is full/u);
  t.is(none.last[1], '1 passed, 1 failed', 'no test ran');

  const unwell = await run({ start: engines([], ['agent-2 has ended (SIGSEGV)']) });
  t.false(unwell.isGreen);
  t.regex(unwell.said, /✘ meshes\n {4}agent-2 has ended/u);
  t.is(unwell.last[1], '2 passed, 1 failed');
});

test.serial('Ctrl-C ends a run with exit code 1, and removes its processes and files', async (t) => {
  const { folder } = checkout(t, {
    'one/a.test.ts': `
      import { renameSync, writeFileSync } from 'node:fs';
      import { tmpdir } from 'node:os';
      test('waits', () => {
        const file = import.meta.dirname + '/running';
        writeFileSync(file + '.new', JSON.stringify({ pid: process.pid, temporary: tmpdir() }));
        renameSync(file + '.new', file);
        return new Promise(() => setInterval(() => {}, 1000));
      });`,
  });
  cpSync(join(root, 'scripts/src'), join(folder, 'scripts/src'), { recursive: true });
  const child = spawn(process.execPath, [join(folder, 'scripts/src/test.ts'), 'one/a'], {
    cwd: folder,
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  t.teardown(() => child.kill('SIGKILL'));
  const running = join(folder, 'one/running');
  const { pid, temporary } = JSON.parse(
    await eventually('the test runs', () => existsSync(running) && readFileSync(running, 'utf8')),
  );
  t.true(existsSync(temporary));
  child.kill('SIGINT');
  t.deepEqual(await ended, [1, null]);
  await eventually('its process is gone', () => !existsSync(`/proc/${pid}/exe`));
  t.false(existsSync(temporary));
});

test.serial('an interrupted run stops its engines, and has failed', async (t) => {
  const { run } = checkout(t, { 'one/a.test.ts': "test('a', (t) => t.pass());" });
  const cut = new AbortController();
  const stopped: boolean[] = [];
  const start = async () => {
    cut.abort(new Error('it was interrupted'));
    return { env: {}, missing: [], stop: async () => (stopped.push(true), []) };
  };
  const { isGreen } = await run({ start, signal: cut.signal });
  t.false(isGreen);
  t.deepEqual(stopped, [true]);
});
