import type { TenantRequest } from '@parley/kernel/caller-request';
import { invalid } from '@parley/kernel/errors';
import type { Ports } from '../ports.ts';
import { resumeWorkflowTurn, runWorkflowTurn, takeOverRun } from '../workflow-runs/run-workflow-turn.ts';
import { modelReply } from './model-reply.ts';
import { openingOf } from './opening.ts';
import { systemPrompt } from './system-prompt.ts';
import type { Turn, TurnEvent } from './turn.ts';

const passagesOfTurn = 6;

/**
 * Runs one turn. Deleted and inactive agents reply too, because their running sessions continue. Throws the errors of
 * `turnError`, and those of `runWorkflowTurn` if the agent has a workflow.
 */
export async function* runTurn(ports: Ports, request: TenantRequest, turn: Turn): AsyncGenerator<TurnEvent> {
  const { agentId, sessionId, history, opens } = turn;
  const { caller } = request;
  if (opens ? history.length > 0 : history.at(-1)?.role !== 'user')
    throw invalid({ path: 'history', message: opens ? 'must be empty' : 'must end with the message to answer' });
  const agent = await ports.readAgent(caller.tenantId, agentId);
  const { tenantId, requestId } = caller;
  const operation = opens ? 'greeting' : 'session';
  const scope = { ...turn, account: { tenantId, requestId, operation, agentId, sessionId } };
  if (opens) {
    const { opening, instruction } = openingOf(agent);
    return yield* modelReply(ports, request, scope, {
      chain: await ports.chooseModel(agent, caller),
      system: systemPrompt(agent),
      conversation: [{ role: 'user', text: instruction }],
      search: undefined,
      tools: [],
      opening,
    });
  }
  const { workflowId, knowledgeBaseIds, tools } = agent;
  // If an earlier attempt began a workflow run, that run continues, even if the agent's workflow has changed since.
  const taken = turn.resumes ? await takeOverRun(ports, request, turn) : undefined;
  if (taken) return yield* resumeWorkflowTurn(ports, request, { turn: scope, agent, taken });
  if (workflowId) return yield* runWorkflowTurn(ports, request, { turn: scope, agent, workflowId });
  yield* modelReply(ports, request, scope, {
    chain: await ports.chooseModel(agent, caller),
    system: systemPrompt(agent),
    conversation: history,
    search: knowledgeBaseIds ? { knowledgeBaseIds, topK: passagesOfTurn } : undefined,
    tools: tools ?? [],
  });
}
