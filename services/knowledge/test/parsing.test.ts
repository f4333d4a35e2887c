import { serviceCaller, type TenantCaller } from '@parley/kernel/caller';
import { badRequest, unauthenticated, unavailable } from '@parley/kernel/errors';
import type { Database } from '@parley/postgres/database/types';
import { DocumentUploaded } from '@parley/protos/parley/knowledge/v1/events';
import { CompleteDocumentRequest } from '@parley/protos/parley/knowledge/v1/knowledge';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { EmbeddingsMisconfigured } from '../src/embeddings/embedder.ts';
import type { KnowledgeDocument } from '../src/knowledge.ts';
import type { Parse } from '../src/parsing/queue-parsing.ts';
import { inTenant, type KnowledgeApp, knowledgeApp, textOf } from './knowledge-app.ts';
import { skipAttempts, skipFailures } from './skip-attempts.ts';

const me = inTenant(1);
const parser = serviceCaller('parser', 1, 'parse-1') as TenantCaller;
const minute = 60_000;

interface Uploaded {
  app: KnowledgeApp;
  base: number;
  id: number;
  parse: Parse;
}

/** Creates an upload that was FAILED and was queued again; it waits for the parse of its version 2. */
async function queuedUpload(t: ExecutionContext, app?: KnowledgeApp): Promise<Uploaded> {
  const running = app ?? (await knowledgeApp(t));
  const base = await running.base();
  const { id } = await running.upload(base, 'FAILED');
  await running.resyncKnowledgeDocument(me, id);
  return { app: running, base, id, parse: { documentId: id, version: 2 } };
}

async function* partsOf(parse: Parse, texts: string[], pageStarts: number[] = [], warnings: string[] = []) {
  for (const [n, text] of texts.entries()) {
    const about = n === 0 ? { ...parse, pageStarts, warnings } : {};
    yield CompleteDocumentRequest.fromPartial({ ...about, text });
  }
}

function complete({ app, parse }: Uploaded, text: string | string[], pageStarts?: number[]): Promise<void> {
  return app.completeDocument(parser, partsOf(parse, [text].flat(), pageStarts));
}

const shown = ({ app, id }: Uploaded) => app.getKnowledgeDocument(me, id);
const reaches = (uploaded: Uploaded, status: KnowledgeDocument['parseStatus']) =>
  eventually(`the document is ${status}`, async () => (await shown(uploaded)).parseStatus === status);

async function published(app: KnowledgeApp): Promise<DocumentUploaded[]> {
  const rows = await app.database.transactShared(({ knex }) => knex('outbox').select('data').orderBy('id'));
  return rows.map(({ data }) => DocumentUploaded.decode(data));
}

/** Returns the number of jobs that watch for a parse to end. */
async function watches(app: KnowledgeApp): Promise<number> {
  const { rows } = await app.database.transactShared(({ knex }) =>
    knex.raw(`SELECT id FROM jobs WHERE kind = 'knowledge.watch-parsing'`),
  );
  return rows.length;
}

test('a document is PARSING when its parse begins, with the confirmed version of the file, and READY and searched when it succeeds', async (t) => {
  const uploaded = await queuedUpload(t);
  const { app, base, id, parse } = uploaded;
  t.is((await shown(uploaded)).parseStatus, 'PENDING');
  const begun = await app.beginDocument(parser, parse);
  const { objectKey, objectEtag, mimeType } = await shown(uploaded);
  t.like(begun, { objectKey, objectEtag, mimeType, fileName: 'a.pdf', fileSizeBytes: 5 });
  t.like(await shown(uploaded), { parseStatus: 'PARSING', parseError: null, rawText: '' });

  const held = createGate();
  app.embedder.before = () => held.pass();
  const text = textOf(3);
  await complete(uploaded, [text.slice(0, 100), text.slice(100)]);
  t.like(await shown(uploaded), { parseStatus: 'PARSING', rawText: '' }, 'its text is stored and not shown yet');
  t.deepEqual(await app.searched(base), []);
  held.open();
  await reaches(uploaded, 'READY');
  t.like(await shown(uploaded), { rawText: text, parseError: null, chunkCount: 3 });
  t.is((await app.searched(base)).length, 3);
  t.deepEqual(await app.usage(), { knowledgeBases: 1, chunks: 3, storedBytes: 5 });
  t.is(await watches(app), 0, 'nothing watches it any more');
  t.is(id, begun.id);
});

test('chunks keep the pages on which they begin', async (t) => {
  const uploaded = await queuedUpload(t);
  const { app } = uploaded;
  const pages = [1, 2, 3].map((n) => `# Part ${n}\n\n${`This stands on page ${n}. `.repeat(150)}\n\n`);
  const starts = pages.map((_, n) => pages.slice(0, n).join('').length);
  await complete(uploaded, pages, starts);
  await reaches(uploaded, 'READY');
  const rows: { page: number; content: string }[] = await app.database.transact(1, ({ knex }) =>
    knex('knowledge_chunks').select('page', 'content').orderBy('chunkIndex'),
  );
  t.deepEqual([...new Set(rows.map(({ page }) => page))], [1, 2, 3]);
  for (const { page, content } of rows) t.true(content.includes(`on page ${page}.`));
});

test('a file that cannot be parsed is FAILED with its plain reason, and can be queued again', async (t) => {
  const uploaded = await queuedUpload(t);
  const { app, parse } = uploaded;
  await app.beginDocument(parser, parse);
  await app.failDocument(parser, { ...parse, reason: `The file is protected by a password.\0${'x'.repeat(600)}` });
  const { parseStatus, parseError } = await shown(uploaded);
  t.is(parseStatus, 'FAILED');
  t.regex(parseError ?? '', /^The file is protected by a password\. x+$/u);
  t.is(parseError?.length, 500);
  t.like(await app.usage(), { storedBytes: 5 }, 'its file still counts');
  t.is(await watches(app), 0);
  t.true(await app.resyncKnowledgeDocument(me, uploaded.id));
  t.like(await shown(uploaded), { parseStatus: 'PENDING', parseError: null, version: 3 });
});

test('a parse whose process died begins again, and of two parsers the first result counts', async (t) => {
  const uploaded = await queuedUpload(t);
  const { app, base, parse } = uploaded;
  const [first, second] = await Promise.all([app.beginDocument(parser, parse), app.beginDocument(parser, parse)]);
  t.is(first.objectEtag, second.objectEtag);
  const goes = createGate();
  app.embedder.before = () => goes.pass();
  await complete(uploaded, 'The text of one parser.');
  const late = [
    () => complete(uploaded, 'The text of another one.'),
    () => app.failDocument(parser, { ...parse, reason: 'It was too slow.' }),
    () => app.beginDocument(parser, parse),
  ];
  for (const call of late) t.like(await t.throwsAsync(call), { kind: 'notFound' });
  goes.open();
  await reaches(uploaded, 'READY');
  t.deepEqual(await app.searched(base), ['The text of one parser.']);
});

test('of concurrent results for a parse only one counts', async (t) => {
  const uploaded = await queuedUpload(t);
  const { app, parse } = uploaded;
  const goes = createGate();
  app.embedder.before = () => goes.pass();
  const results = await Promise.allSettled([
    complete(uploaded, 'The text of one parser.'),
    complete(uploaded, 'The text of another one.'),
    app.failDocument(parser, { ...parse, reason: 'It was too slow.' }),
  ]);
  const lost = results.flatMap((each) => (each.status === 'rejected' ? [each.reason.kind] : []));
  t.deepEqual(lost, ['notFound', 'notFound']);
  goes.open();
  await reaches(uploaded, results[2]?.status === 'fulfilled' ? 'FAILED' : 'READY');
});

test('results are refused for a parse that has ended, for an older version, and for a deleted, absent or foreign document', async (t) => {
  const uploaded = await queuedUpload(t);
  const { app, id, parse } = uploaded;
  const refused = async (of: Parse, caller = parser, what = JSON.stringify(of)) => {
    const calls = [
      () => app.beginDocument(caller, of),
      () => app.completeDocument(caller, partsOf(of, ['A text.'])),
      () => app.failDocument(caller, { ...of, reason: 'broken' }),
    ];
    for (const call of calls) t.like(await t.throwsAsync(call), { kind: 'notFound' }, what);
  };
  for (const version of [1, 3]) await refused({ documentId: id, version });
  for (const documentId of [0, -1, 999_999, 2_147_483_647]) await refused({ documentId, version: 1 });
  await refused(parse, serviceCaller('parser', 2, 'parse') as TenantCaller, 'another tenant');
  await complete(uploaded, 'A text.');
  await refused(parse, parser, 'its text is stored');
  await reaches(uploaded, 'READY');
  await refused(parse, parser, 'it is READY');
  const other = await queuedUpload(t, app);
  await app.deleteKnowledgeDocument(me, other.id);
  await refused(other.parse, parser, 'it was deleted');
  t.is(await watches(app), 0);
});

test('only the parser begins, completes and fails documents', async (t) => {
  const { app, parse } = await queuedUpload(t);
  const others = [me, serviceCaller('agent', 1, 'r') as TenantCaller, { ...parser, kind: 'apiKey' } as TenantCaller];
  for (const caller of others) {
    t.like(await t.throwsAsync(app.beginDocument(caller, parse)), { kind: 'forbidden' });
    t.like(await t.throwsAsync(app.completeDocument(caller, partsOf(parse, ['x']))), { kind: 'forbidden' });
    t.like(await t.throwsAsync(app.failDocument(caller, { ...parse, reason: 'x' })), { kind: 'forbidden' });
  }
});

test('a text of 5,000,000 characters is accepted; a longer or blank text and misplaced pages are refused', async (t) => {
  const uploaded = await queuedUpload(t);
  const { app, parse } = uploaded;
  const refused = async (texts: string[], path: string, pageStarts?: number[]) =>
    t.like(await t.throwsAsync(complete(uploaded, texts, pageStarts)), { kind: 'invalid', fields: [{ path }] });
  await refused([], 'text');
  await refused([' ', '\n\t\0'], 'text');
  await refused(['x'.repeat(3_000_000), 'x'.repeat(2_000_001)], 'text');
  for (const starts of [[0, 5, 4], [-1], [0, 7]]) await refused(['A text'], 'page_starts', starts);
  t.is((await shown(uploaded)).parseStatus, 'PENDING');
  app.embedder.before = () => Promise.reject(badRequest('enough seen', 'SPEND_CAP_REACHED'));
  await complete(
    uploaded,
    Array.from({ length: 5 }, () => '\u{1f600}'.repeat(999_999).concat(' ')),
  );
  await reaches(uploaded, 'FAILED');
  t.is(
    (await app.database.transact(1, ({ knex }) => knex('knowledge_documents').first('parsedVersion'))).parsedVersion,
    parse.version,
  );
});

test("a text beyond the plan's chunks or at the spend cap is FAILED with a plain reason", async (t) => {
  const uploaded = await queuedUpload(t);
  const { app, base } = uploaded;
  app.quotas.chunks = 2;
  await complete(uploaded, textOf(3));
  await reaches(uploaded, 'FAILED');
  const full = await shown(uploaded);
  t.like(full, { rawText: '', chunkCount: 0 });
  t.regex(full.parseError ?? '', /quota of chunks does not have room: limit 2/u);
  t.deepEqual(app.embedder.embedded, [], 'nothing was embedded for it');

  const second = await queuedUpload(t, app);
  app.embedder.before = () => {
    throw badRequest('The monthly cap of 10 USD is reached', 'SPEND_CAP_REACHED');
  };
  await complete(second, textOf(1));
  await reaches(second, 'FAILED');
  t.is((await shown(second)).parseError, 'The monthly cap of 10 USD is reached');
  t.deepEqual(await app.searched(base), []);
  t.like(await app.usage(), { chunks: 0 });
});

test('a parsed text waits while the embeddings endpoint is unavailable, and is READY afterwards', async (t) => {
  const uploaded = await queuedUpload(t);
  const { app } = uploaded;
  let refusals = 0;
  app.embedder.before = () => {
    refusals += 1;
    throw unavailable('the endpoint is away');
  };
  await complete(uploaded, textOf(1));
  for (let n = 1; n <= 5; n++) {
    await eventually(`attempt ${n}`, () => refusals >= n);
    app.clock.offsetMs += 2 * minute;
  }
  t.is((await shown(uploaded)).parseStatus, 'PARSING');
  app.embedder.before = () => undefined;
  app.clock.offsetMs += 2 * minute;
  await reaches(uploaded, 'READY');
});

for (const [what, cause, skip, reason] of [
  [
    'that refuses the key of the operator',
    new EmbeddingsMisconfigured('settings', 'status 401'),
    (database: Database) => skipFailures(database, 'knowledge.index', 'misconfiguration', 9),
    /not set up correctly/u,
  ],
  [
    'at which the account of the operator is empty',
    new EmbeddingsMisconfigured('account', 'status 402'),
    (database: Database) => skipFailures(database, 'knowledge.index', 'empty account', 9),
    /the account .* has no credit or quota left/u,
  ],
  [
    'that stays away',
    undefined,
    (database: Database) => skipAttempts(database, 'knowledge.index', 1_499),
    /was away for too long/u,
  ],
] as const) {
  test(`a text waits for an embeddings endpoint ${what} until it is FAILED, with a reason that does not show the endpoint`, async (t) => {
    const uploaded = await queuedUpload(t);
    const { app } = uploaded;
    let asked = 0;
    const last = createGate();
    app.embedder.before = async () => {
      asked += 1;
      if (asked > 1) await last.pass();
      throw unavailable('http://embeddings.internal', cause);
    };
    await complete(uploaded, textOf(1));
    await eventually('it waits for its last attempt', () => skip(app.database));
    t.is((await shown(uploaded)).parseStatus, 'PARSING');
    last.open();
    await reaches(uploaded, 'FAILED');
    t.is(asked, 2);
    const { parseError } = await shown(uploaded);
    t.regex(parseError ?? '', reason);
    t.notRegex(parseError ?? '', /internal|40\d/u);
    app.embedder.before = () => undefined;
    t.true(await app.resyncKnowledgeDocument(me, uploaded.id));
  });
}

for (const [what, error] of [
  ['is away', unavailable('identity is away')],
  ['refuses the key of the mesh', unauthenticated('This port takes calls from the mesh only')],
] as const)
  test(`a text waits for identity that ${what} as long as for the embeddings endpoint, and is then FAILED`, async (t) => {
    const uploaded = await queuedUpload(t);
    const { app } = uploaded;
    let asked = 0;
    const last = createGate();
    app.identity.before = async () => {
      asked += 1;
      if (asked > 1) await last.pass();
      throw error;
    };
    await complete(uploaded, textOf(1));
    await eventually('it waits', () => skipAttempts(app.database, 'knowledge.index', 1_499));
    t.is((await shown(uploaded)).parseStatus, 'PARSING');
    last.open();
    await reaches(uploaded, 'FAILED');
    t.regex((await shown(uploaded)).parseError ?? '', /was away for too long/u);
  });

test('an outage does not count as an attempt for a refused key or a defect', async (t) => {
  const uploaded = await queuedUpload(t);
  const { app } = uploaded;
  const failures = [
    unavailable('away'),
    unavailable('http://embeddings.internal', new EmbeddingsMisconfigured('settings', 'status 401')),
    new TypeError('a defect'),
  ];
  app.embedder.before = () => {
    const failure = failures.shift();
    if (failure) throw failure;
  };
  await complete(uploaded, textOf(1));
  await eventually('it waits after the outage', () => skipAttempts(app.database, 'knowledge.index', 1_400));
  await eventually('all have happened', () => {
    app.clock.offsetMs += minute;
    return failures.length === 0;
  });
  app.clock.offsetMs += minute;
  await reaches(uploaded, 'READY');
  t.is((await shown(uploaded)).parseError, null);
});

test('a defect while indexing is tried three times and then FAILED, without details of the error', async (t) => {
  const uploaded = await queuedUpload(t);
  const { app } = uploaded;
  let attempts = 0;
  app.embedder.before = () => {
    attempts += 1;
    throw new TypeError('secret of the process');
  };
  await complete(uploaded, textOf(1));
  for (let n = 1; n < 3; n++) {
    await eventually(`attempt ${n}`, () => attempts >= n);
    app.clock.offsetMs += 2 * minute;
  }
  await reaches(uploaded, 'FAILED');
  t.is(attempts, 3);
  t.regex((await shown(uploaded)).parseError ?? '', /went wrong on our side/u);
});

test('a parsed text of a suspended tenant waits until the suspension is lifted; a text of a deleted tenant is FAILED', async (t) => {
  const uploaded = await queuedUpload(t);
  const { app } = uploaded;
  const tenant = app.identity.tenant;
  if (!tenant) throw new Error('no tenant');
  app.identity.tenant = { ...tenant, suspended: true };
  await complete(uploaded, textOf(1));
  await eventually('it waits', async () => {
    const { rows } = await app.database.transactShared(({ knex }) =>
      knex.raw(`SELECT 1 FROM jobs WHERE kind = 'knowledge.index' AND state = 'queued'`),
    );
    return rows.length === 1;
  });
  t.is((await shown(uploaded)).parseStatus, 'PARSING');
  t.deepEqual(app.embedder.embedded, []);
  app.identity.tenant = tenant;
  app.clock.offsetMs += minute;
  await reaches(uploaded, 'READY');

  for (const end of [{ ...tenant, deleted: true }, undefined]) {
    app.identity.tenant = tenant;
    const other = await queuedUpload(t, app);
    app.identity.tenant = end;
    await complete(other, textOf(1));
    await reaches(other, 'FAILED');
  }
});

test('if a document or base is deleted while its text is indexed, no chunk counts or is searched', async (t) => {
  const uploaded = await queuedUpload(t);
  const { app, base } = uploaded;
  const [embeds, goes] = [createGate(), createGate()];
  app.embedder.before = async () => {
    embeds.release();
    await goes.pass();
  };
  await complete(uploaded, textOf(1));
  await embeds.pass();
  await app.deleteKnowledgeDocument(me, uploaded.id);
  goes.release();
  await eventually('the job ends', async () => (await app.count('jobs')) === 0);

  const other = await queuedUpload(t, app);
  await complete(other, textOf(1));
  await embeds.pass();
  await app.deleteKnowledgeBase(me, other.base);
  goes.open();
  await eventually('the job ends', async () => (await app.count('jobs')) === 0);
  const row = await app.database.transact(1, ({ knex }) => knex('knowledge_documents').where({ id: other.id }).first());
  t.like(row, { parseStatus: 'FAILED', parseError: 'The knowledge base was deleted.', rawText: '' });
  t.like(await app.usage(), { chunks: 0 });
  t.deepEqual(await app.searched(base), []);
});

test('if the base changes its model while a text is embedded, the text is embedded again with the new model', async (t) => {
  const uploaded = await queuedUpload(t);
  const { app, base } = uploaded;
  const [embeds, goes] = [createGate(), createGate()];
  app.embedder.before = async () => {
    embeds.release();
    await goes.pass();
  };
  await complete(uploaded, textOf(1));
  await embeds.pass();
  await app.database.transact(1, ({ knex }) =>
    knex('knowledge_bases').where({ id: base }).update({ embeddingModel: 'another' }),
  );
  goes.open();
  await eventually('it is tried again', () => {
    app.clock.offsetMs += minute;
    return app.embedder.embedded.length === 2;
  });
  await reaches(uploaded, 'READY');
  t.is((await app.searched(base)).length, 1);
});

test('the event of an unparsed document is published again after waits that double, and the document is finally FAILED', async (t) => {
  const uploaded = await queuedUpload(t);
  const { app, parse } = uploaded;
  const { knowledgeBaseId, id: documentId } = await shown(uploaded);
  await app.beginDocument(parser, parse);
  for (let n = 1; n < 6; n++) {
    t.is((await published(app)).length, n);
    app.clock.offsetMs += 15 * minute * 2 ** (n - 1);
    await eventually(`it is published ${n + 1} times`, async () => (await published(app)).length === n + 1);
  }
  t.deepEqual((await published(app)).at(-1), { documentId, knowledgeBaseId, version: 2 });
  t.is((await shown(uploaded)).parseStatus, 'PARSING');
  app.clock.offsetMs += 15 * minute * 2 ** 5;
  await reaches(uploaded, 'FAILED');
  t.regex((await shown(uploaded)).parseError ?? '', /could not be parsed in time/u);
  t.is(await watches(app), 0);
  t.is((await published(app)).length, 6);
});

test('the event of a document whose parse ended is not published again', async (t) => {
  const app = await knowledgeApp(t);
  const [ready, failed, deleted] = [await queuedUpload(t, app), await queuedUpload(t, app), await queuedUpload(t, app)];
  await complete(ready, textOf(1));
  await reaches(ready, 'READY');
  await app.failDocument(parser, { ...failed.parse, reason: 'The file is empty.' });
  await app.deleteKnowledgeDocument(me, deleted.id);
  t.is(await watches(app), 0);
});

test('the event of a document whose text waits to be indexed is not published again', async (t) => {
  const uploaded = await queuedUpload(t);
  const { app } = uploaded;
  const goes = createGate();
  app.embedder.before = () => goes.pass();
  await complete(uploaded, textOf(1));
  app.clock.offsetMs += 16 * minute;
  await eventually('it is not watched any more', async () => (await app.count('jobs')) === 1);
  t.is((await published(app)).length, 1);
  goes.open();
  await reaches(uploaded, 'READY');
});

test('a bounded number of parse warnings is shown with the text until another text replaces it', async (t) => {
  const uploaded = await queuedUpload(t);
  const { app, base, id, parse } = uploaded;
  const scanned = '2 of 14 pages have no text: scanned';
  const warnings = [scanned, `NUL \0${'👍'.repeat(400)}`, ...Array.from({ length: 30 }, (_, n) => `loss ${n}`)];
  await app.completeDocument(parser, partsOf(parse, ['A text.', ' More.'], [], warnings));
  await reaches(uploaded, 'READY');
  const { parseWarnings } = await shown(uploaded);
  t.is(parseWarnings.length, 20);
  t.is(parseWarnings[0], scanned);
  t.is(parseWarnings[1], `NUL  ${'👍'.repeat(295)}`);
  const [listed] = await app.listKnowledgeDocuments(me, base);
  t.deepEqual(listed?.parseWarnings, parseWarnings);

  await app.updateKnowledgeDocumentText(me, { id, text: 'Corrected by hand.' });
  t.deepEqual((await shown(uploaded)).parseWarnings, []);
});
