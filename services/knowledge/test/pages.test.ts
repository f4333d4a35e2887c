import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { type FetchedPage, type PageLimits, readPage } from '../src/pages/page-process.ts';

const unabortedSignal = new AbortController().signal;
const usual: PageLimits = { maxLength: 1_000_000, timeoutMs: 60_000, heapMb: 256 };

function pageOf(text: string, rest: Partial<FetchedPage> = {}): FetchedPage {
  return { body: Buffer.from(text), isHtml: true, charset: undefined, ...rest };
}

test('HTML is converted to text with its title, and other pages are unchanged', async (t) => {
  const html = '<title>Fees</title><h1>Fees\u0000</h1>&#0;\ud800';
  t.deepEqual(await readPage(pageOf(html), unabortedSignal, usual), {
    title: 'Fees',
    text: '# Fees\ufffd\n\n\ufffd\ufffd',
    warnings: [],
  });
  t.deepEqual(await readPage(pageOf('<b>a</b>\n\0', { isHtml: false }), unabortedSignal, usual), {
    title: undefined,
    text: '<b>a</b>\n\ufffd',
    warnings: [],
  });
});

test('a text is counted in code points', async (t) => {
  const limits = { ...usual, maxLength: 3 };
  t.like(await readPage(pageOf('🦜🦜🦜', { isHtml: false }), unabortedSignal, limits), { text: '🦜🦜🦜' });
  t.is(await readPage(pageOf('🦜🦜🦜a', { isHtml: false }), unabortedSignal, limits), 'too long');
});

// This test is serial, because the work of other tests on this event loop would be measured too.
test.serial('hostile pages are bounded in time and memory, and leave the event loop free', async (t) => {
  const hostile: [string, string, Partial<PageLimits>][] = [
    ['deep', '<div>'.repeat(1_000_000), { timeoutMs: 1_000 }],
    ['wide', '<p>a</p>'.repeat(600_000), { heapMb: 64 }],
    ['tables in tables', '<table><tr><td>'.repeat(300_000), { timeoutMs: 1_000 }],
  ];
  for (const [what, html, limits] of hostile) {
    let [last, longestGap] = [performance.now(), 0];
    const tick = () => {
      longestGap = Math.max(longestGap, performance.now() - last);
      last = performance.now();
    };
    const timer = setInterval(tick, 1);
    const begun = performance.now();
    const read = await readPage(pageOf(html), unabortedSignal, { ...usual, ...limits });
    clearInterval(timer);
    tick();
    const took = performance.now() - begun;
    t.is(read, 'too complex', what);
    t.true(took < 30_000, `${what}: ${took} ms`);
    t.true(longestGap < Math.max(100, took / 2), `${what}: ${longestGap} of ${took} ms`);
  }
  t.like(await readPage(pageOf('next'), unabortedSignal, usual), { text: 'next' });
});

test('a caller that disconnects ends the reading', async (t) => {
  const leaving = new AbortController();
  const reading = t.throwsAsync(readPage(pageOf('<div>'.repeat(1_000_000)), leaving.signal, usual), {
    message: 'gone',
  });
  leaving.abort(new Error('gone'));
  await reading;
  await t.throwsAsync(readPage(pageOf('a'), leaving.signal, usual), { message: 'gone' });
});

const testWithProc = process.platform === 'linux' ? test : test.skip;

testWithProc('reading ends soon after its service was killed (Linux: its process is found in /proc)', async (t) => {
  const service = spawn(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `import { readPage } from ${JSON.stringify(import.meta.resolve('../src/pages/page-process.ts'))};
      const page = { body: Buffer.from('<div>'.repeat(300_000)), isHtml: true };
      await readPage(page, new AbortController().signal, { maxLength: 10, timeoutMs: 5_000, heapMb: 1_024 });`,
    ],
    { stdio: 'ignore' },
  );
  t.teardown(() => service.kill('SIGKILL'));
  const pid = await eventually('it reads', () => readerOf(service.pid ?? 0));
  await eventually('it is busy', () => cpuTicks(pid) > 20);
  service.kill('SIGKILL');
  t.true(await eventually('the reader has ended', () => isGone(pid)));
});

function readerOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
}

function cpuTicks(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[13]);
}

function isGone(pid: number): boolean {
  try {
    return /^State:\tZ/mu.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return true;
  }
}
