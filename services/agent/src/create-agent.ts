import type { TenantCaller } from '@parley/chassis/caller';
import { inputChecks } from '@parley/chassis/input-checks';
import type { Agent, AgentFields, AgentInput } from './agent.ts';
import { agentDefaults, checkedAgentInput, checkTogether } from './agent-input.ts';
import { agentStore } from './agent-store.ts';
import type { Ports } from './ports.ts';

/** Workflows are attached, and agents switched off, by an update. */
export type NewAgent = Omit<AgentInput, 'workflowId' | 'status'>;

/** Makes an agent. Null is as good as left out: there is nothing to clear yet. */
export async function createAgent(
  ports: Pick<Ports, 'database'>,
  caller: TenantCaller,
  input: NewAgent,
): Promise<Agent> {
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null));
  const { name, personaPrompt, position, ...rest } = checkedAgentInput(given);
  const checks = inputChecks();
  for (const [field, value] of Object.entries({ name, personaPrompt, position })) {
    if (value === undefined) checks.refuse(`input.${field}`, 'must be given');
  }
  checks.finish();
  const fields = { ...agentDefaults, name, personaPrompt, position, ...rest } as AgentFields;
  checkTogether(fields);
  return ports.database.transact(caller.tenantId, (db) => agentStore(db).insert(fields));
}
