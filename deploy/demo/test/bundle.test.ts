import { gzipSync } from 'node:zlib';
import test from 'ava';
import { bundle } from '../src/bundle.ts';

const gzipped = (text: string) => gzipSync(text, { level: 9 }).length;

test('the client is one module of at most 6 KB, gzipped', async (t) => {
  const text = await bundle('parley-client.js');
  t.true(gzipped(text) <= 6 * 1024, `${gzipped(text)} bytes`);
  const { connect, createTranscript } = (await import(`data:text/javascript,${encodeURIComponent(text)}`)) as Record<
    string,
    unknown
  >;
  t.deepEqual([typeof connect, typeof createTranscript], ['function', 'function']);
});

test('the widget is one script of at most 20 KB, gzipped, which imports and evaluates nothing', async (t) => {
  const text = await bundle('parley-chat.js');
  t.true(gzipped(text) <= 20 * 1024, `${gzipped(text)} bytes`);
  t.notRegex(text, /\b(?:innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|Function)\b|\bimport\b/u);
});

test('the same source gives the same bytes', async (t) => {
  t.is(await bundle('parley-chat.js'), await bundle('parley-chat.js'));
});
