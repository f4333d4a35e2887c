import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Api } from './api.ts';
import type { Terminal } from './terminal.ts';

const create = 'mutation ($input: CreateKnowledgeBaseInput!) { base: createKnowledgeBase(input: $input) { id } }';
const ingest = 'mutation ($input: IngestDocumentInput!) { passages: ingestDocument(input: $input) }';
const find = 'query ($id: ID!) { agent(id: $id) { knowledgeBaseIds } }';
const attach = 'mutation ($id: ID!, $input: UpdateAgentInput!) { updateAgent(id: $id, input: $input) { id } }';

/** Stores text files in a new knowledge base and returns its id. @throws Error for a file that cannot be read */
export async function storeDocuments(
  api: Api,
  files: readonly string[],
  screen: Pick<Terminal, 'note'>,
): Promise<number> {
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  const { base } = await api.call<{ base: { id: number } }>(create, { input: { name: 'scripts/talk' } });
  for (const [n, text] of texts.entries()) {
    const fileName = basename(files[n] ?? '');
    const input = { knowledgeBaseId: base.id, fileName, text };
    const { passages } = await api.call<{ passages: number }>(ingest, { input });
    screen.note(`Read ${fileName}: ${passages} ${passages === 1 ? 'passage' : 'passages'}.`);
  }
  return base.id;
}

/** Stores text files in a new knowledge base, and adds the knowledge base to the agent. @throws Error for a file that cannot be read */
export async function giveDocuments(
  api: Api,
  agentId: number,
  files: readonly string[],
  screen: Pick<Terminal, 'note'>,
): Promise<void> {
  const baseId = await storeDocuments(api, files, screen);
  const { agent } = await api.call<{ agent: { knowledgeBaseIds: number[] | null } }>(find, { id: agentId });
  await api.call(attach, { id: agentId, input: { knowledgeBaseIds: [...(agent.knowledgeBaseIds ?? []), baseId] } });
}
