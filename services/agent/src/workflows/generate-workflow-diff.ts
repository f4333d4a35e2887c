import type { TenantRequest } from '@parley/kernel/caller-request';
import { parseInput, text } from '@parley/kernel/input';
import type { Operation } from 'rfc6902';
import { z } from 'zod';
import type { GenerateWorkflowDiffInput } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { availableThings } from './available-things.ts';
import { changedDefinitionPrompt } from './definition-prompt.ts';
import { type GeneratedDefinition, generateDefinition, generatingChain } from './generate-definition.ts';
import { sharedPatch } from './json-patch.ts';
import { workflowStore } from './workflow-store.ts';

const change = z.object({ workflowId: z.int(), instruction: text(4_000) });

/**
 * Generates a changed draft from an instruction, and the RFC 6902 patch from the current draft to the new one. Nothing is saved.
 * @throws DomainError `notFound` if the workflow is absent; the errors of `generateDefinition`
 */
export async function generateWorkflowDiff(
  ports: Ports,
  request: TenantRequest,
  input: GenerateWorkflowDiffInput,
): Promise<GeneratedDefinition & { patch: Operation[] }> {
  const { workflowId, instruction } = parseInput(change, input);
  const { draft } = await ports.database.read(request.caller.tenantId, (db) => workflowStore(db).get(workflowId));
  const chain = await generatingChain(ports, request);
  const available = await availableThings(ports, request);
  const prompt = changedDefinitionPrompt(available, draft, instruction);
  const generated = await generateDefinition(ports, request, { chain, prompt });
  return { ...generated, patch: await sharedPatch(request, draft, generated.definition, true) };
}
