import { type Caller, serviceCaller } from '@parley/kernel/caller';
import { CompleteDocumentRequest } from '@parley/protos/parley/knowledge/v1/knowledge';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { inTenant } from './knowledge-app.ts';
import { type KnowledgeUnit, knowledgeUnit } from './knowledge-unit.ts';

const me = inTenant(1);
const parser = serviceCaller('parser', 1, 'parse');
const markdown = 'text/markdown';

async function answered<T>(unit: KnowledgeUnit, caller: Caller, document: string, variables: object): Promise<T> {
  const { data, errors } = await unit.graph(caller, document, variables);
  if (errors) throw new Error(JSON.stringify(errors));
  return Object.values(data ?? {})[0] as T;
}

const create = 'mutation ($input: CreateKnowledgeBaseInput!) { createKnowledgeBase(input: $input) { id } }';
const request = `mutation ($input: RequestKnowledgeDocumentUploadInput!) {
  requestKnowledgeDocumentUpload(input: $input) { uploadUrl objectStorageKey } }`;
const confirm = `mutation ($input: ConfirmKnowledgeDocumentUploadInput!) {
  confirmKnowledgeDocumentUpload(input: $input) { documentId parseStatus } }`;
const read = 'query ($id: Int!) { knowledgeDocument(id: $id) { parseStatus parseError rawText } }';

async function uploadedDocument(unit: KnowledgeUnit): Promise<{ documentId: number; objectStorageKey: string }> {
  const { id: knowledgeBaseId } = await answered<{ id: number }>(unit, me, create, { input: { name: 'Returns' } });
  const file = { knowledgeBaseId, fileName: 'returns.md', mimeType: markdown };
  const { uploadUrl, objectStorageKey } = await answered<{ uploadUrl: string; objectStorageKey: string }>(
    unit,
    me,
    request,
    {
      input: { ...file, declaredSizeBytes: 8 },
    },
  );
  const put = { method: 'PUT', body: Buffer.from('# Return'), headers: { 'content-type': markdown } };
  if (!(await fetch(uploadUrl, put)).ok) throw new Error('the PUT was refused');
  const input = { ...file, objectStorageKey };
  return { ...(await answered<{ documentId: number }>(unit, me, confirm, { input })), objectStorageKey };
}

async function* parts(documentId: number, texts: string[]) {
  for (const text of texts) yield CompleteDocumentRequest.fromPartial({ documentId, version: 1, text });
}

test('a parse of an uploaded file is begun and completed in parts over gRPC, and the document is READY with its text', async (t) => {
  const unit = await knowledgeUnit(t);
  const { documentId, objectStorageKey } = await uploadedDocument(unit);
  const begun = await unit.rpc.beginDocument({ documentId, version: 1 }, { caller: parser });
  t.like(begun, { objectKey: objectStorageKey, mimeType: markdown, sizeBytes: 8n, fileName: 'returns.md' });
  t.true(begun.objectEtag.length > 0);

  const long = 'A parcel can be sent back within thirty days. '.repeat(30_000);
  await unit.rpc.completeDocument(parts(documentId, ['# Returns\n\n', long]), { caller: parser });
  await eventually('it is READY', async () => {
    const { parseStatus } = await answered<{ parseStatus: string }>(unit, me, read, { id: documentId });
    return parseStatus === 'READY';
  });
  t.like(await answered<{ rawText: string }>(unit, me, read, { id: documentId }), { rawText: `# Returns\n\n${long}` });
  const late = unit.rpc.beginDocument({ documentId, version: 1 }, { caller: parser, expectedErrors: ['notFound'] });
  t.like(await t.throwsAsync(late), { kind: 'notFound' });
});

test('a parse is failed with a reason over gRPC, and other units and users are refused', async (t) => {
  const unit = await knowledgeUnit(t);
  const { documentId } = await uploadedDocument(unit);
  const failure = { documentId, version: 1, reason: 'The file has no text.' };
  for (const caller of [me, serviceCaller('agent', 1, 'r')]) {
    const options = { caller, expectedErrors: ['forbidden' as const] };
    t.like(await t.throwsAsync(unit.rpc.failDocument(failure, options)), { kind: 'forbidden' });
    const whole = unit.rpc.completeDocument(parts(documentId, ['x']), options);
    t.like(await t.throwsAsync(whole), { kind: 'forbidden' });
  }
  await unit.rpc.failDocument(failure, { caller: parser });
  const failed = await answered(unit, me, read, { id: documentId });
  t.deepEqual(failed, { parseStatus: 'FAILED', parseError: 'The file has no text.', rawText: '' });
});

test('a refused confirmation names its reason', async (t) => {
  const unit = await knowledgeUnit(t);
  const { id: knowledgeBaseId } = await answered<{ id: number }>(unit, me, create, { input: { name: 'Returns' } });
  const file = { knowledgeBaseId, fileName: 'returns.md', mimeType: markdown };
  const { objectStorageKey } = await answered<{ objectStorageKey: string }>(unit, me, request, {
    input: { ...file, declaredSizeBytes: 8 },
  });
  const { errors } = await unit.graph(me, confirm, { input: { ...file, objectStorageKey } });
  t.like(errors?.[0], {
    message: 'Nothing has been uploaded to this key',
    extensions: { code: 'BAD_REQUEST', statusCode: 400, reason: 'UPLOAD_MISSING' },
  });
});
