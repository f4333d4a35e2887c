import type { Client } from './client.ts';

/** A definition that says this and ends. */
export function saying(text: string) {
  return { version: 1, start: 'say', nodes: { say: { kind: 'response', text } } };
}

export async function createWorkflow(client: Client, input: object = {}): Promise<number> {
  const document = 'mutation ($input: CreateWorkflowInput!) { createWorkflow(input: $input) { id } }';
  const given = { name: 'Intake', draft: saying('Hello.'), ...input };
  return (await client.value<{ id: number }>(document, { input: given })).id;
}

export async function publishWorkflow(client: Client, id: number): Promise<number> {
  const document = 'mutation ($id: Int!) { publishWorkflow(id: $id) { publishedVersion } }';
  return (await client.value<{ publishedVersion: number }>(document, { id })).publishedVersion;
}

export async function deleteWorkflow(client: Client, id: number): Promise<void> {
  await client.query('mutation ($id: Int!) { deleteWorkflow(id: $id) }', { id });
}
