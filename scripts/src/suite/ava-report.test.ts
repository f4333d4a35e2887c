import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { root } from '../root.ts';
import { countTests, loggedLines, withoutPassed } from './ava-report.ts';

/** What ava reports of test files with these bodies. */
async function reportOf(t: ExecutionContext, bodies: string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-ava-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  cpSync(join(root, 'scripts/package.json'), join(folder, 'package.json'));
  for (const [index, body] of bodies.entries()) {
    writeFileSync(join(folder, `${index}.test.ts`), `import test from 'ava';\n${body}`);
  }
  const ava = join(folder, 'node_modules/.bin/ava');
  const args = ['--timeout=3s', ...bodies.keys().map((index) => `${index}.test.ts`)];
  const { promise, resolve } = Promise.withResolvers<string>();
  execFile(ava, args, { cwd: folder, env: { ...process.env, FORCE_COLOR: '0' } }, (_error, stdout) => resolve(stdout));
  return promise;
}

test('passed, failed and skipped tests are counted apart', async (t) => {
  const report = await reportOf(t, [
    "test('one', (t) => { console.log('  ✔ no test'); t.pass(); }); test('two', (t) => t.pass());",
    "test('three', (t) => t.fail()); test.skip('four', (t) => t.pass()); test.todo('five');",
    "test.failing('six', (t) => t.fail()); test.failing('seven', (t) => t.pass());",
  ]);
  t.deepEqual(countTests(report), { passed: 2, failed: 2, skipped: 3 });
});

test('a test that hangs counts as failed, and so does a file that throws', async (t) => {
  const hangs = await reportOf(t, [
    "test('one', (t) => t.pass()); test('two', () => new Promise(() => setInterval(() => {}, 1000)));",
  ]);
  t.deepEqual(countTests(hangs), { passed: 1, failed: 1, skipped: 0 });

  const throws = await reportOf(t, ["test('one', (t) => t.pass());", "throw new Error('at import');"]);
  t.deepEqual(countTests(throws), { passed: 1, failed: 1, skipped: 0 });
});

test('what is shown of a report keeps the failures and drops what passed', async (t) => {
  const shown = withoutPassed(await reportOf(t, ["test('good', (t) => t.pass()); test('bad', (t) => t.is(1, 2));"]));
  t.regex(shown, /✘ \[fail\]: bad/);
  t.regex(shown, /Difference/);
  t.notRegex(shown, /✔/);
});

test('all that tests have logged is found, also once what passed is dropped', async (t) => {
  const bodies = [
    "test('one', (t) => { t.log('1 s'); t.log('2 s'); t.pass(); }); test('two', (t) => { t.log('3 s'); t.pass(); });",
  ];
  const report = await reportOf(t, bodies);
  t.deepEqual(loggedLines(report), ['ℹ 1 s', 'ℹ 2 s', 'ℹ 3 s']);
  t.deepEqual(loggedLines(withoutPassed(report)), loggedLines(report));
});
