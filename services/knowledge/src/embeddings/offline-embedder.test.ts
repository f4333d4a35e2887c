import { startTaskThread } from '@parley/kernel/processes/task-thread';
import test, { type ExecutionContext } from 'ava';
import type { Embedding } from './embedder.ts';
import { offlineEmbedder, startEmbeddingThread } from './offline-embedder.ts';
import { embedOffline } from './offline-embedding.ts';

function embedderOf(t: ExecutionContext, start = startEmbeddingThread) {
  let started = 0;
  const embedder = offlineEmbedder(() => {
    started += 1;
    return start();
  });
  t.teardown(() => embedder.close());
  const embedFor = (tenantId: number, ...texts: string[]) => embedder.embed(texts, tenantId, undefined);
  return { started: () => started, embedFor, embed: (...texts: string[]) => embedFor(1, ...texts) };
}

const longText = 'A word of many. '.repeat(200);

test('a text always has the same vector, on and off the thread, and vectors keep the order of the texts', async (t) => {
  const { embed, started } = embedderOf(t);
  const short = ['one text', 'another one', 'one text'];
  t.deepEqual(await embed('one text'), [embedOffline('one text')]);
  t.is(started(), 0, 'no thread for a short text');
  t.deepEqual(await embed(...short), short.map(embedOffline));
  const long = [...short, 'word '.repeat(3_000), '退款 '.repeat(1_000), ...short];
  t.deepEqual(await embed(...long), long.map(embedOffline));
  t.is(started(), 1);
});

test('neither a long text nor several texts are embedded on the event loop', async (t) => {
  const asked: string[] = [];
  const marked = new Float32Array(1);
  const { embed } = embedderOf(t, () => ({
    ended: false,
    run: async (texts: string[]) => {
      asked.push(...texts);
      return texts.map(() => marked);
    },
    end: async () => undefined,
  }));
  t.deepEqual(await embed(longText), [marked]);
  t.deepEqual(await embed('short', 'shorter'), [marked, marked]);
  t.deepEqual(asked, [longText, 'short', 'shorter']);
});

test('a short text does not wait for a long one', async (t) => {
  const { embed } = embedderOf(t);
  const ended: string[] = [];
  const long = embed(longText).then(() => ended.push('long'));
  await embed('a question').then(() => ended.push('short'));
  await long;
  t.deepEqual(ended, ['short', 'long']);
});

test('tenants take turns on one thread, so a text does not wait for all calls of another tenant', async (t) => {
  const { embed, embedFor, started } = embedderOf(t);
  await embed(longText);
  const ended: number[] = [];
  const calls = Array.from({ length: 6 }, () => embedFor(1, longText).then(() => ended.push(1)));
  await Promise.all([...calls, embedFor(2, longText).then(() => ended.push(2))]);
  t.true(ended.indexOf(2) < 3, `${ended}`);
  t.is(started(), 1);
});

test('if the thread dies, its texts are UNAVAILABLE, and a new thread embeds the next ones', async (t) => {
  const dying = new URL(
    `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', () => process.exit(1));
  `)}`,
  );
  const threads = [
    () => startTaskThread<string[], Embedding[]>({ module: dying, name: 'dies', purpose: 'that embeds texts' }),
    startEmbeddingThread,
  ];
  const { embed } = embedderOf(t, () => (threads.shift() as typeof startEmbeddingThread)());
  t.like(await t.throwsAsync(embed(longText)), { kind: 'unavailable' });
  t.deepEqual(await embed(longText), [embedOffline(longText)]);
});

test('an abort ends a long embedding', async (t) => {
  const embedder = offlineEmbedder();
  t.teardown(() => embedder.close());
  const abortedSignal = AbortSignal.abort(new Error('left'));
  await t.throwsAsync(embedder.embed([longText], 1, abortedSignal), { message: 'left' });
});

test('a thread that starts after the embedder is closed ends after its texts', async (t) => {
  const threads: ReturnType<typeof startEmbeddingThread>[] = [];
  const embedder = offlineEmbedder(() => {
    const thread = startEmbeddingThread();
    threads.push(thread);
    return thread;
  });
  await embedder.close();
  t.is((await embedder.embed([longText], 1, undefined)).length, 1);
  t.deepEqual(
    threads.map(({ ended }) => ended),
    [true],
  );
});
