import { randomUUID } from 'node:crypto';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { badRequest, type DomainError, unavailable } from '@parley/kernel/errors';
import { storageProblem } from '@parley/kernel/input-checks';
import { isJsonObject, parseJson } from '@parley/kernel/json';
import { meteredGenerate, type ServedAnswer } from '../metering/metered-chain.ts';
import type { ConversationMessage, ModelRequest } from '../models/model.ts';
import type { ProviderChain } from '../models/provider-chain.ts';
import type { Ports } from '../ports.ts';
import { accountOf, directError } from '../text-generations/direct-call.ts';
import type { WorkflowIssue } from '../workflow/definition.ts';
import { definitionIssues } from './definition-issues.ts';
import { correctionPrompt, definitionInstructions, issueTexts } from './definition-prompt.ts';

// allow-name workflow: the name under which the ledger records these calls, not the query

/** The first attempt, and two corrections. */
const maxTries = 3;
const maxSummary = 2_000;
const maxNamed = 5;

export interface GeneratedDefinition {
  definition: object;
  /** The model's summary; empty if it gave none. */
  summary: string;
  /** The cost of all attempts. */
  costUsd: number;
}

/**
 * Returns the chain of models that generates definitions.
 * @throws DomainError `invalid` (`WORKFLOW_NOT_GENERATED`) if no language model is configured
 */
export async function generatingChain({ chooseModel }: Ports, { caller }: TenantRequest): Promise<ProviderChain> {
  const chain = await chooseModel({ llmProviderOverride: null, llmModelOverride: null }, caller);
  if (chain.first.offline)
    throw notGenerated('The offline model cannot write workflows: a language model must be configured');
  return chain;
}

/**
 * Generates a definition that could be published. If an answer has problems, the model gets them and corrects the answer, up to twice. Each
 * attempt is a metered call.
 * @throws DomainError `invalid` (`WORKFLOW_NOT_GENERATED`) if no answer is a valid definition
 * @throws the errors of a direct call (see `directError`)
 */
export async function generateDefinition(
  ports: Ports,
  request: TenantRequest,
  { chain, prompt }: { chain: ProviderChain; prompt: string },
): Promise<GeneratedDefinition> {
  const first: ConversationMessage = { role: 'user', text: prompt };
  let messages = [first];
  let costUsdE8 = 0n;
  let issues: WorkflowIssue[] = [];
  for (let tries = 0; tries < maxTries; tries += 1) {
    const { text, spent } = await ask(ports, request, chain, { system: definitionInstructions, messages });
    costUsdE8 += spent.costUsdE8;
    const answer = answerIn(text);
    issues = answer ? await definitionIssues(ports, request, answer.definition, true) : [noAnswer];
    if (answer && issues.length === 0) return { ...answer, costUsd: Number(costUsdE8) / 1e8 };
    messages = [
      first,
      { role: 'assistant', text: text.trim() === '' ? '{}' : text },
      { role: 'user', text: correctionPrompt(issues) },
    ];
  }
  throw notGenerated(`The model wrote no workflow that can be published: ${issueTexts(issues, maxNamed).join('; ')}`);
}

const noAnswer: WorkflowIssue = {
  path: 'the answer',
  message: 'must be one whole JSON object with summary and definition, without NUL and halves of surrogate pairs',
};

function notGenerated(message: string): DomainError {
  return badRequest(message, 'WORKFLOW_NOT_GENERATED');
}

async function ask(
  { metering }: Ports,
  { caller, signal }: TenantRequest,
  chain: ProviderChain,
  request: ModelRequest,
): Promise<ServedAnswer> {
  const account = accountOf(caller, 'workflow', randomUUID());
  try {
    return await meteredGenerate(metering, chain, request, { account, signal });
  } catch (error) {
    throw signal.aborted ? unavailable('The client has left', error) : directError(error, { namesModel: false });
  }
}

/** Models put words and code fences around JSON, even when asked not to. */
function answerIn(text: string): Pick<GeneratedDefinition, 'definition' | 'summary'> | undefined {
  const answer = parseJson(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1));
  if (!isJsonObject(answer)) return undefined;
  const { definition, summary } = answer;
  if (!isJsonObject(definition) || storageProblem(definition)) return undefined;
  return { definition, summary: typeof summary === 'string' ? shown(summary) : '' };
}

function shown(summary: string): string {
  return summary.slice(0, maxSummary).replaceAll('\0', '').toWellFormed();
}
