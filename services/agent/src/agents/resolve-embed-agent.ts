import { createHash } from 'node:crypto';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { badRequest } from '@parley/kernel/errors';
import { parseInput } from '@parley/kernel/input';
import type { Avatar, Persona } from '@parley/protos/parley/agent/v1/agent';
import type { AgentUseCase, VoiceTier } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import type { Agent } from './agent.ts';
import type { AgentFields } from './agent-input.ts';
import { agentDefaults, newAgent } from './agent-input.ts';
import { agentStore } from './agent-store.ts';
import { avatarOf } from './avatar.ts';

const personaFields = newAgent.pick({
  name: true,
  personaPrompt: true,
  position: true,
  useCase: true,
  voiceTier: true,
});

export interface EmbedAgent {
  agent: Agent;
  avatar: Avatar;
}

/**
 * Returns the agent of an embedded session: an existing one (even if deleted), or the hidden agent of a persona, which is created on first
 * use.
 * @throws DomainError `notFound`: the tenant never had the agent
 * @throws DomainError `invalid`: the persona breaks the rules for agents, or the tenant has reached its limit of hidden agents
 */
export async function resolveEmbedAgent(
  ports: Ports,
  request: TenantRequest,
  which: { agentId: number } | { persona: Persona },
): Promise<EmbedAgent> {
  const { caller } = request;
  const [agent, tenant] = await Promise.all([
    'persona' in which
      ? agentOfPersona(ports, request, which.persona)
      : ports.readAgent(caller.tenantId, which.agentId),
    ports.identity.getAvatarConfig({}, { caller }),
  ]);
  return { agent, avatar: avatarOf(agent, tenant) };
}

function agentOfPersona(
  { database, maxHiddenAgents }: Ports,
  { caller }: TenantRequest,
  given: Persona,
): Promise<Agent> {
  const { useCase, voiceTier, ...texts } = given;
  const persona = {
    ...texts,
    ...(useCase && { useCase: useCase as AgentUseCase }),
    ...(voiceTier && { voiceTier: voiceTier as VoiceTier }),
  };
  const fields: AgentFields = { ...agentDefaults, ...parseInput(personaFields, persona) };
  const sha256 = personaSha256(fields);
  return database.transact(caller.tenantId, async (db) => {
    const store = agentStore(db);
    const known = await store.findOfPersona(sha256);
    if (known) return known;
    await store.lockHidden();
    // Another transaction may have created the agent before this one acquired the lock.
    const made = await store.findOfPersona(sha256);
    if (made) return made;
    if ((await store.countHidden()) >= maxHiddenAgents) {
      throw badRequest(
        `A tenant has at most ${maxHiddenAgents} agents of personas; delete some, or give the agentId of one`,
        'LIMIT_REACHED',
      );
    }
    return store.insertHidden(fields, sha256);
  });
}

/** Returns the hash that identifies a persona. An omitted field and the field's default give the same hash. */
function personaSha256({ name, personaPrompt, position, useCase, voiceTier }: AgentFields): Buffer {
  const parts = [name, personaPrompt, position, useCase, voiceTier];
  return createHash('sha256').update(JSON.stringify(parts)).digest();
}
