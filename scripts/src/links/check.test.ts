import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { checkLinks } from './check.ts';

/** Returns the problems of a checkout with these files. */
function problems(t: ExecutionContext, files: Record<string, string>): string[] {
  const root = mkdtempSync(join(tmpdir(), 'parley-links-'));
  t.teardown(() => rmSync(root, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return checkLinks(root, ['gateway', 'services']).problems;
}

test('links to existing files, folders and headings, and to other hosts, are accepted', (t) => {
  const files = {
    'README.md':
      '# Start here\n\n[a](gateway/README.md) [b](gateway) [c](gateway#one-call) [d](#start-here) [e](https://example.com/none.md)',
    'gateway/README.md':
      '# Gateway\n\n## One `call`\n\n## One `call`\n\n[up](../README.md#start-here) [2](#one-call-1) [x](<../a b.txt>)',
    'a b.txt': '',
  };
  t.deepEqual(problems(t, files), []);
});

test('a link to a missing file, folder or heading is reported with its page', (t) => {
  const page = '# Gateway\n\n[a](gone.md) [b](../services/gone) [c](#gone) [d](../README.md#gone) ![e](gone.png)';
  const found = problems(t, { 'README.md': '# Start here\n\n`[f](gone.md)`', 'gateway/README.md': page });
  t.deepEqual(found, [
    'gateway/README.md: no file gone.md',
    'gateway/README.md: no file ../services/gone',
    'gateway/README.md: no heading #gone in gateway/README.md',
    'gateway/README.md: no heading #gone in README.md',
    'gateway/README.md: no file gone.png',
  ]);
});

test('links in tables and links by reference are checked', (t) => {
  const page = '| a |\n| - |\n| [x](gone.md) |\n\n[y][ref]\n\n[ref]: ../gone.md';
  t.deepEqual(problems(t, { 'gateway/README.md': page }), [
    'gateway/README.md: no file gone.md',
    'gateway/README.md: no file ../gone.md',
  ]);
});

test('a link to a file outside the checkout is reported', (t) => {
  t.deepEqual(problems(t, { 'README.md': '[a](../)' }), ['README.md: no file ../']);
});

test('a code span may name a file relative to the root, to its page or to any folder', (t) => {
  const files = {
    'gateway/README.md':
      '`src/limits/throttle.ts` `limits/throttle.ts` `throttle.ts` `gateway/src/` `src/*.ts` `a/b` `x.json`',
    'gateway/src/limits/throttle.ts': '',
  };
  t.deepEqual(problems(t, files), []);
});

test('the path of a moved file is reported in a code span, but not in a code block', (t) => {
  const page = '`http/throttle.ts` `src/old/` `queue.ts`\n\n```sh\nnode http/throttle.ts\n```';
  t.deepEqual(problems(t, { 'gateway/README.md': page, 'gateway/src/limits/throttle.ts': '' }), [
    'gateway/README.md: no file http/throttle.ts',
    'gateway/README.md: no file src/old/',
    'gateway/README.md: no file queue.ts',
  ]);
});

test('the path of a missing page is reported in sources, but not in tests', (t) => {
  const files = {
    'services/agent/README.md': '',
    'services/agent/src/main.ts':
      '// see services/agent/README.md, ../README.md, agent/README.md and services/agent/MODELS.md',
    'services/agent/src/main.test.ts': "'made/up.md'",
  };
  t.deepEqual(problems(t, files), ['services/agent/src/main.ts: no file services/agent/MODELS.md']);
});
