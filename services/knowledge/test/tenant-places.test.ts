import { serviceCaller, type TenantCaller } from '@parley/kernel/caller';
import { CompleteDocumentRequest } from '@parley/protos/parley/knowledge/v1/knowledge';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { inTenant, type KnowledgeApp, knowledgeApp, textOf } from './knowledge-app.ts';

const markdown = 'text/markdown';

/** Creates a base of a tenant, with functions that upload texts and complete their parse. */
async function library(app: KnowledgeApp, tenantId: number) {
  const me = inTenant(tenantId);
  const parser = serviceCaller('parser', tenantId, 'parse') as TenantCaller;
  const { id: knowledgeBaseId } = await app.createKnowledgeBase(me, { name: 'Returns' });
  const file = { knowledgeBaseId, fileName: 'a.md', mimeType: markdown };
  async function* parts(documentId: number, text: string) {
    yield CompleteDocumentRequest.fromPartial({ documentId, version: 1, text });
  }
  return {
    /** Uploads a text and completes its parse, so that the document waits for indexing. Returns the document's id. */
    async parsed(text: string): Promise<number> {
      const { uploadUrl, objectStorageKey } = await app.requestKnowledgeDocumentUpload(me, {
        ...file,
        declaredSizeBytes: text.length,
      });
      await fetch(uploadUrl, { method: 'PUT', body: text, headers: { 'content-type': markdown } });
      const { documentId } = await app.confirmKnowledgeDocumentUpload(me, { ...file, objectStorageKey });
      await app.completeDocument(parser, parts(documentId, text));
      return documentId;
    },
    statusOf: async (id: number) => (await app.getKnowledgeDocument(me, id)).parseStatus,
  };
}

test("a tenant with many parsed documents has one indexing slot, and another tenant's document is READY before them", async (t) => {
  const app = await knowledgeApp(t);
  const gate = createGate();
  let [underWay, max] = [0, 0];
  app.embedder.before = async (texts) => {
    if (!texts.some((text) => text.includes('flood'))) return;
    underWay += 1;
    max = Math.max(max, underWay);
    await gate.pass();
    underWay -= 1;
  };
  const [busy, other] = [await library(app, 1), await library(app, 2)];
  const flood: number[] = [];
  for (let n = 0; n < 6; n += 1) flood.push(await busy.parsed(textOf(1, 'flood')));
  await eventually('the flood has a place', () => underWay > 0);
  const id = await other.parsed(textOf(1, 'something else'));
  await eventually('the document of another is READY', async () => (await other.statusOf(id)) === 'READY');
  t.deepEqual(
    await Promise.all(flood.map(busy.statusOf)),
    flood.map(() => 'PARSING'),
  );

  gate.open();
  for (const each of flood) await eventually('it is READY', async () => (await busy.statusOf(each)) === 'READY');
  t.is(max, 1);
});
