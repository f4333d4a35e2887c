import type { TenantRequest } from '@parley/kernel/caller-request';
import { parseInput, text } from '@parley/kernel/input';
import { z } from 'zod';
import type { AiGenerateWorkflowInput } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { availableThings } from './available-things.ts';
import { newDefinitionPrompt } from './definition-prompt.ts';
import { type GeneratedDefinition, generateDefinition, generatingChain } from './generate-definition.ts';

const generation = z.object({ prompt: text(4_000) });

/** Generates a definition without saving it. @throws DomainError the errors of `generateDefinition` */
export async function aiGenerateWorkflow(
  ports: Ports,
  request: TenantRequest,
  input: AiGenerateWorkflowInput,
): Promise<GeneratedDefinition> {
  const { prompt } = parseInput(generation, input);
  const chain = await generatingChain(ports, request);
  const available = await availableThings(ports, request);
  return generateDefinition(ports, request, { chain, prompt: newDefinitionPrompt(available, prompt) });
}
