import { conflict, notFound, unavailable } from '@parley/kernel/errors';
import { createMetrics } from '@parley/kernel/telemetry/metrics';
import { absentObjectStore } from '@parley/objects/object-store';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { parseMetrics } from '../src/parse-metrics.ts';
import { makeDocx, makePdf, makeXlsx, paragraph, textCell } from './make-documents.ts';
import { parserMesh } from './parser-mesh.ts';

test('each type of file is parsed, and its text and pages are sent to knowledge', async (t) => {
  const mesh = await parserMesh(t);
  const { eventBus } = await mesh.replica();
  await mesh.upload(1, 'pdf', makePdf([[{ text: 'page one' }], [{ text: 'page two' }]]));
  await mesh.upload(2, 'docx', makeDocx(paragraph('word')));
  await mesh.upload(3, 'xlsx', makeXlsx([['Sheet', `<row r="1">${textCell('A1', 'cell')}</row>`]]));
  await mesh.upload(4, 'csv', 'a,b\n1,2\n');
  await mesh.upload(5, 'markdown', '# Heading\n');
  await eventBus.publish([1, 2, 3, 4, 5].map((id) => mesh.uploaded(id)));
  const texts = await Promise.all([1, 2, 3, 4, 5].map(async (id) => (await mesh.ended(id)).text));
  t.deepEqual(texts, [
    'page one\n\npage two\n\n',
    'word\n\n',
    '## Sheet\n\n| cell |\n| --- |\n\n',
    '| a | b |\n| --- | --- |\n| 1 | 2 |\n',
    '# Heading\n',
  ]);
  t.deepEqual(mesh.documents.get(1)?.pageStarts, [0, 10]);
  await eventually('no job is left', async () => (await mesh.jobs()).length === 0);
});

test('each loss of a file is a line of its text, and is sent to knowledge as a warning', async (t) => {
  const mesh = await parserMesh(t);
  const { eventBus } = await mesh.replica();
  const remark = `<w:comments><w:comment w:id="1">${paragraph('a remark')}</w:comment></w:comments>`;
  const related = [{ type: 'comments', name: 'comments.xml', content: remark }];
  await mesh.upload(1, 'docx', makeDocx(paragraph('word'), { related }));
  await mesh.upload(2, 'docx', makeDocx(paragraph('word')));
  await eventBus.publish([mesh.uploaded(1), mesh.uploaded(2)]);
  const { text, warnings } = await mesh.ended(1);
  t.deepEqual([text, warnings], ['word\n\n[1 comment not read]\n\n', ['1 comment not read']]);
  t.deepEqual((await mesh.ended(2)).warnings, []);
});

test('a file that cannot be read is FAILED with its reason', async (t) => {
  const mesh = await parserMesh(t);
  const { eventBus } = await mesh.replica();
  await mesh.upload(1, 'pdf', 'no PDF');
  await mesh.upload(2, 'docx', makeDocx(paragraph('\u2800\u200b')));
  await eventBus.publish([mesh.uploaded(1), mesh.uploaded(2)]);
  t.is((await mesh.ended(1)).reason, 'The file was uploaded as a PDF document, but its content is plain text.');
  t.is((await mesh.ended(2)).reason, 'The file is empty: it has no text.');
});

test('a long text reaches knowledge whole, in parts below 1 MB', async (t) => {
  const mesh = await parserMesh(t);
  const { eventBus } = await mesh.replica();
  const text = 'Ένα μεγάλο κείμενο 👍\n'.repeat(120_000);
  await mesh.upload(1, 'markdown', text);
  await eventBus.publish([mesh.uploaded(1)]);
  const { text: received, largestPartBytes = 0 } = await mesh.ended(1);
  t.true(received === text);
  t.true(largestPartBytes < 1_000_000);
});

test('only the confirmed version is parsed: a file that was replaced or removed is FAILED', async (t) => {
  const mesh = await parserMesh(t);
  const { eventBus } = await mesh.replica();
  const replaced = await mesh.upload(1, 'markdown', 'confirmed');
  await mesh.store.put(replaced.objectKey, Buffer.from('other'), { contentType: 'text/markdown' });
  const gone = await mesh.upload(2, 'markdown', 'confirmed');
  await mesh.store.delete(gone.objectKey);
  await mesh.upload(3, 'markdown', Buffer.alloc(20 * 2 ** 20 + 1, 'a'));
  const foreign = await mesh.upload(4, 'markdown', 'of tenant 1');
  foreign.objectKey = foreign.objectKey.replace('tenants/1/', 'tenants/2/');
  await mesh.store.put(foreign.objectKey, Buffer.from('of tenant 1'), { contentType: 'text/markdown' });
  // Simulates a store that returned the size of an earlier object together with the ETag of the current one.
  const torn = await mesh.upload(5, 'markdown', 'longer than confirmed');
  torn.sizeBytes = 8n;
  await eventBus.publish([1, 2, 3, 4, 5].map((id) => mesh.uploaded(id)));
  t.is((await mesh.ended(1)).reason, 'The file was replaced after its upload was confirmed. Upload it again.');
  t.is((await mesh.ended(2)).reason, 'The uploaded file is not there any more. Upload it again.');
  t.is((await mesh.ended(3)).reason, 'The file is larger than 20 MB.');
  t.is((await mesh.ended(4)).reason, 'The uploaded file is not there any more. Upload it again.');
  t.is((await mesh.ended(5)).reason, 'The file was replaced after its upload was confirmed. Upload it again.');
});

test('an event that is delivered repeatedly starts one parse', async (t) => {
  const mesh = await parserMesh(t);
  const first = await mesh.replica();
  const second = await mesh.replica();
  await mesh.upload(1, 'markdown', 'text');
  const event = mesh.uploaded(1);
  await Promise.all([first, second].map(({ eventBus }) => eventBus.publish([event, event])));
  await mesh.ended(1);
  await eventually('no job is left', async () => (await mesh.jobs()).length === 0);
  t.is(mesh.documents.get(1)?.begun, 1);
});

test('the job of a document that knowledge no longer waits for ends silently', async (t) => {
  const mesh = await parserMesh(t);
  const { eventBus } = await mesh.replica();
  await eventBus.publish([mesh.uploaded(404)]);
  await eventually('no job is left', async () => (await mesh.jobs()).length === 0);

  await mesh.upload(1, 'markdown', 'text');
  mesh.failures.complete = notFound('Document', 1);
  await eventBus.publish([mesh.uploaded(1)]);
  await eventually(
    'no job is left',
    async () => (await mesh.jobs()).length === 0 && mesh.documents.get(1)?.begun === 1,
  );
  t.is(mesh.documents.get(1)?.reason, undefined);
});

test('an outage of the object store does not use up the attempts of a document', async (t) => {
  const mesh = await parserMesh(t);
  const away = await mesh.replica(absentObjectStore());
  const document = await mesh.upload(1, 'markdown', 'text');
  await away.eventBus.publish([mesh.uploaded(1)]);
  await eventually('it has waited twice', async () => (await mesh.jobs())[0]?.payload.waits === 2);
  t.deepEqual([document.text, document.reason], [undefined, undefined]);
  t.true((await mesh.jobs()).every(({ attempt }) => attempt <= 1));
  await away.unit.stop();
  await mesh.replica();
  t.is((await mesh.ended(1)).text, 'text');
});

test('an outage of knowledge does not use up the attempts of a document', async (t) => {
  const mesh = await parserMesh(t);
  const { eventBus } = await mesh.replica();
  await mesh.upload(1, 'markdown', 'text');
  const restart = await mesh.stopKnowledge();
  await eventBus.publish([mesh.uploaded(1)]);
  await eventually('it has waited', async () => ((await mesh.jobs())[0]?.payload.waits ?? 0) >= 1);
  t.true((await mesh.jobs()).every(({ attempt }) => attempt <= 1));
  await restart();
  t.is((await mesh.ended(1)).text, 'text');
});

test('a document whose text knowledge could not store is parsed again', async (t) => {
  const mesh = await parserMesh(t);
  const { eventBus } = await mesh.replica();
  const document = await mesh.upload(1, 'markdown', 'text');
  mesh.failures.complete = unavailable('away');
  await eventBus.publish([mesh.uploaded(1)]);
  await eventually('it was begun', () => document.begun === 1);
  await eventually('it waits', async () => (await mesh.jobs())[0]?.payload.waits === 1);
  delete mesh.failures.complete;
  t.is((await mesh.ended(1)).text, 'text');
});

test('the document of a dead parser is parsed by another', async (t) => {
  const mesh = await parserMesh(t, { PARSER_LEASE_MS: '1500', PARSER_MAX_MEMORY_MB: '4096' });
  const first = await mesh.replica();
  const document = await mesh.upload(1, 'docx', makeDocx('<w:p/>'.repeat(3_000_000)));
  await first.eventBus.publish([mesh.uploaded(1)]);
  await eventually('it was begun', () => document.begun === 1);
  await first.kill();
  await mesh.replace(document, makeDocx(paragraph('small')));
  await mesh.replica();
  t.is((await mesh.ended(1)).text, 'small\n\n');
  t.true(document.begun >= 2);
});

test('another error of knowledge is retried, and never shown to the tenant', async (t) => {
  const mesh = await parserMesh(t);
  const { eventBus } = await mesh.replica();
  const document = await mesh.upload(1, 'markdown', 'text');
  mesh.failures.complete = conflict('a detail of knowledge');
  await eventBus.publish([mesh.uploaded(1)]);
  await eventually('it was retried', () => document.begun === 2);
  delete mesh.failures.complete;
  t.is((await mesh.ended(1)).text, 'text');
});

test('no log or metric contains content of a file, even if its library quotes it', async (t) => {
  const mesh = await parserMesh(t);
  const { eventBus, unit } = await mesh.replica();
  const logged: unknown[] = [];
  for (const level of ['info', 'warn', 'error'] as const) {
    Object.assign(unit.deps.log, { [level]: (...line: unknown[]) => void logged.push(line) });
  }
  await mesh.upload(1, 'csv', 'a,b\n"canary,1\n');
  await mesh.upload(2, 'docx', makeDocx('<w:p><canary></w:p>'));
  await mesh.upload(3, 'pdf', 'canary');
  await mesh.upload(4, 'markdown', 'canary');
  await eventBus.publish([1, 2, 3, 4].map((id) => mesh.uploaded(id)));
  for (const id of [1, 2, 3]) t.false((await mesh.ended(id)).reason?.includes('canary'));
  await mesh.ended(4);
  await eventually('no job is left', async () => (await mesh.jobs()).length === 0);
  t.is(logged.length, 3);
  t.notRegex(JSON.stringify(logged, errorsToo), /canary|uploads/u);
});

test('documents are counted by type and outcome, and the duration of readings is measured', async (t) => {
  const metrics = createMetrics('parser');
  const parse = parseMetrics(metrics);
  parse.outcome('pdf', 'password');
  parse.outcome('pdf', 'parsed');
  parse.read('csv')();
  parse.loss('docx', 'comments');
  parse.endedItsReaders();
  const text = await metrics.registry.metrics();
  for (const line of [
    'parley_parser_documents_total{type="pdf",outcome="password",unit="parser"} 1',
    'parley_parser_documents_total{type="pdf",outcome="parsed",unit="parser"} 1',
    'parley_parser_documents_total{type="unknown",outcome="endedItsReaders",unit="parser"} 1',
    'parley_parser_losses_total{type="docx",kind="comments",unit="parser"} 1',
    'parley_parser_read_seconds_count{unit="parser",type="csv"} 1',
  ]) {
    t.true(text.includes(line), line);
  }
});

/** A replacer for `JSON.stringify` that includes the fields of errors, which are not enumerable. */
function errorsToo(_key: string, value: unknown): unknown {
  return value instanceof Error ? { ...value, message: value.message, cause: value.cause, stack: value.stack } : value;
}
