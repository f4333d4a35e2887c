import { unavailable } from '@parley/kernel/errors';
import { RetrievalMode, type RetrieveRequest } from '@parley/protos/parley/knowledge/v1/knowledge';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { operations } from '../src/embeddings/metered-embedder.ts';
import { startEmbeddings } from './embeddings-server.ts';
import { keyOf, retrievalUnit, userOf } from './retrieval-unit.ts';
import { storedChunks } from './stored-chunks.ts';

const asked = (knowledgeBaseIds: number[], more: Partial<RetrieveRequest> = {}): RetrieveRequest => ({
  knowledgeBaseIds,
  query: 'Where does the falcon nest?',
  topK: 5,
  mode: RetrievalMode.RETRIEVAL_MODE_UNSPECIFIED,
  callId: 'call',
  timeLimitMs: 0,
  ...more,
});

test('Retrieve finds the best passages of several bases, and skips bases that are deleted or of another tenant', async (t) => {
  const { rpc, database, ledger } = await retrievalUnit(t);
  const mine = storedChunks(database, 1);
  const [one, two, gone] = [await mine.base(), await mine.base(), await mine.base()];
  const foreign = await storedChunks(database, 2).base();
  await mine.document(one, ['The falcon nests on the tower', 'Bees make honey'], 'one.md');
  const document = await mine.document(two, ['Where the falcon nests: on the cliff', 'Otters swim'], 'two.md');
  await mine.document(gone, ['The falcon nests in a deleted base']);
  await storedChunks(database, 2).document(foreign, ['The falcon nests with another tenant']);
  await mine.deleteBase(gone);
  const caller = userOf(1);
  for (const mode of [
    RetrievalMode.RETRIEVAL_MODE_UNSPECIFIED,
    RetrievalMode.RETRIEVAL_MODE_COSINE,
    RetrievalMode.RETRIEVAL_MODE_HYBRID,
  ]) {
    const request = asked([one, two, gone, foreign, 999_999], { mode, topK: 2, agentId: 4, sessionId: 5 });
    const { passages } = await rpc.retrieve(request, { caller });
    t.deepEqual(
      passages.map(({ content }) => content),
      ['Where the falcon nests: on the cliff', 'The falcon nests on the tower'],
    );
    t.like(passages[0], { documentId: document, documentName: 'two.md', chunkIndex: 0, heading: '', page: undefined });
    t.true((passages[0]?.score ?? 0) > 0.2);
  }
  // Each request embeds the query once for all bases that have the same model.
  t.is(ledger.reserved.length, 3);
  t.like(ledger.reserved[0], {
    call: { callId: 'call offline-embedding-1', agentId: 4, sessionId: 5, operation: operations.tenant },
  });
});

test('Retrieve returns the usage of its embeddings as the ledger has it', async (t) => {
  const server = await startEmbeddings(t);
  const { rpc, database, ledger } = await retrievalUnit(t, { env: { EMBEDDINGS_URL: server.url } });
  const mine = storedChunks(database, 1);
  const bases = [await mine.base('text-embedding-3-small'), await mine.base('text-embedding-3-small')];
  for (const base of bases) await mine.document(base, ['The falcon nests on the tower']);
  const { usage } = await rpc.retrieve(asked(bases), { caller: userOf(1) });
  t.deepEqual(usage, { tokensIn: server.tokensOfText, costUsdE8: 6n });
  await eventually('it is settled', () => ledger.settled.length === 1);
  t.like(ledger.settled[0]?.call, { tokensIn: server.tokensOfText, costUsdE8: 6n });
  t.is((await rpc.retrieve(asked([999_999]), { caller: userOf(1) })).usage?.costUsdE8, 0n);
});

test('a search that fails after its embedding returns the usage; one that fails before it is UNAVAILABLE', async (t) => {
  const server = await startEmbeddings(t);
  const { rpc, database, ledger, unit } = await retrievalUnit(t, { env: { EMBEDDINGS_URL: server.url } });
  const base = await storedChunks(database, 1).base('text-embedding-3-small');
  const reading = unit.deps.database.read;
  unit.deps.database.read = (...read) =>
    server.requests.length > 0 ? Promise.reject(unavailable('the database is away')) : reading(...read);
  const { passages, usage, searchFailed } = await rpc.retrieve(asked([base]), { caller: userOf(1) });
  t.true(searchFailed);
  t.deepEqual(passages, []);
  t.deepEqual(usage, { tokensIn: server.tokensOfText, costUsdE8: 6n });
  await eventually('it is settled', () => ledger.settled.length === 1);
  t.like(ledger.settled[0]?.call, { tokensIn: server.tokensOfText, costUsdE8: 6n });
  t.like(await t.throwsAsync(rpc.retrieve(asked([base]), { caller: userOf(1) })), { kind: 'unavailable' });
});

test('if a base cannot be searched, the passages of the others are returned, whatever the order of the bases', async (t) => {
  const { rpc, database, unit } = await retrievalUnit(t);
  const mine = storedChunks(database, 1);
  const [one, two, broken] = [await mine.base(), await mine.base(), await mine.base()];
  await mine.document(one, ['The falcon nests on the tower']);
  await mine.document(two, ['The falcon nests on the cliff']);
  const unreadable = await mine.document(broken, ['The falcon nests on the mast']);
  // No endpoint that serves this model is configured.
  const unserved = await mine.base('text-embedding-3-small');
  let failed = 0;
  unit.deps.failedSearches = { add: () => void (failed += 1) };
  const reading = unit.deps.database.read;
  unit.deps.database.read = (tenantId, work) =>
    reading(tenantId, async (db) => {
      const found = await work(db);
      if (Array.isArray(found) && found.some(({ documentId }) => documentId === unreadable))
        throw unavailable('too slow');
      return found;
    });
  for (const bases of [
    [unserved, broken, one, two],
    [one, unserved, two, broken],
  ]) {
    const { passages, searchFailed } = await rpc.retrieve(asked(bases), { caller: userOf(1) });
    t.deepEqual(passages.map(({ content }) => content).toSorted(), [
      'The falcon nests on the cliff',
      'The falcon nests on the tower',
    ]);
    t.false(searchFailed);
  }
  t.is(failed, 4);
  const nothing = rpc.retrieve(asked([unserved, 999_999]), { caller: userOf(1) });
  t.like(await t.throwsAsync(nothing), { kind: 'unavailable' });
});

test('a base whose embedding hangs does not delay the others, and its passages are omitted', async (t) => {
  const server = await startEmbeddings(t);
  const { rpc, database, ledger } = await retrievalUnit(t, { env: { EMBEDDINGS_URL: server.url } });
  const mine = storedChunks(database, 1);
  const hangs = await mine.base('text-embedding-3-small');
  const fine = await mine.base('another-model');
  await mine.document(fine, ['The falcon nests on the tower']);
  const { open } = server.hold('falcon', 'text-embedding-3-small');
  t.teardown(open);
  const { passages, searchFailed } = await rpc.retrieve(asked([hangs, fine], { timeLimitMs: 2_000 }), {
    caller: userOf(1),
  });
  t.deepEqual(
    passages.map(({ content }) => content),
    ['The falcon nests on the tower'],
  );
  t.false(searchFailed);
  await eventually('the embedding that hung is over', () => ledger.settled.length === 2);

  const nothing = await rpc.retrieve(asked([hangs], { timeLimitMs: 500, callId: 'late' }), { caller: userOf(1) });
  await eventually('it is settled', () => ledger.settled.length === 3);
  const { tokensIn = 0 } = ledger.settled.at(-1)?.call ?? {};
  t.true(tokensIn > 0);
  t.like(nothing, { passages: [], searchFailed: true, usage: { tokensIn } });
});

test('a tenant whose searches read many bases at once leaves connections for other tenants', async (t) => {
  const { rpc, database, unit } = await retrievalUnit(t);
  const [mine, theirs] = [storedChunks(database, 1), storedChunks(database, 2)];
  const bases = [await mine.base(), await mine.base(), await mine.base(), await mine.base(), await mine.base()];
  const other = await theirs.base();
  await theirs.document(other, ['The falcon nests on the tower']);
  const reading = unit.deps.database.read;
  const gate = createGate();
  let held = 0;
  let max = 0;
  unit.deps.database.read = async (tenantId, work) => {
    if (tenantId !== 1) return reading(tenantId, work);
    max = Math.max(max, ++held);
    await gate.pass();
    held -= 1;
    return reading(tenantId, work);
  };
  const flood = Array.from({ length: 4 }, () => rpc.retrieve(asked(bases), { caller: userOf(1) }));
  await eventually('bases are read', () => held > 0);
  const { passages } = await rpc.retrieve(asked([other]), { caller: userOf(2) });
  t.is(passages.length, 1);
  gate.open();
  await Promise.all(flood);
  t.is(max, 2);
});

test('Retrieve refuses a blank query, no base or more than five, and a topK outside 1 to 20', async (t) => {
  const { rpc, database } = await retrievalUnit(t);
  const base = await storedChunks(database, 1).base();
  const refused = async (request: RetrieveRequest) => {
    const error = await t.throwsAsync(rpc.retrieve(request, { caller: keyOf(1), expectedErrors: ['invalid'] }));
    t.like(error, { kind: 'invalid' });
  };
  await refused(asked([base], { query: ' \n' }));
  await refused(asked([]));
  await refused(asked([1, 2, 3, 4, 5, 6]));
  await refused(asked([base], { topK: 0 }));
  await refused(asked([base], { topK: 21 }));
  const long = await rpc.retrieve(asked([base], { query: 'word '.repeat(20_000) }), { caller: keyOf(1) });
  t.deepEqual(long.passages, []);
});

test('good passages of several bases come before the best passage of an irrelevant base', async (t) => {
  const { rpc, database } = await retrievalUnit(t);
  const mine = storedChunks(database, 1);
  const [falcons, bees] = [await mine.base(), await mine.base()];
  const good = ['The falcon nests on the tower', 'The falcon nests on the cliff', 'Where the falcon nests, in spring'];
  await mine.document(falcons, good, 'falcons.md');
  await mine.document(bees, ['Bees have their nest in a hollow tree'], 'bees.md');
  for (const mode of [RetrievalMode.RETRIEVAL_MODE_COSINE, RetrievalMode.RETRIEVAL_MODE_HYBRID]) {
    const { passages } = await rpc.retrieve(asked([bees, falcons], { mode, topK: 4 }), { caller: userOf(1) });
    t.deepEqual(
      passages.map(({ documentName }) => documentName),
      ['falcons.md', 'falcons.md', 'falcons.md', 'bees.md'],
    );
  }
});
