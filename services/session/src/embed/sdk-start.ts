import { randomUUID } from 'node:crypto';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { badRequest, DomainError, type FieldProblem, isDomainError, notFound } from '@parley/kernel/errors';
import { anyText, graphEnum, parseInput, text, withoutNulls } from '@parley/kernel/input';
import { parseId } from '@parley/kernel/row-id';
import { committedUnder } from '@parley/postgres/committed-keys';
import type {
  Agent,
  Avatar,
  ResolveEmbedAgentRequest,
  ResolveEmbedAgentResponse,
} from '@parley/protos/parley/agent/v1/agent';
import { z } from 'zod';
import type { AgentUseCase, SdkStartInput, SdkStartResult, VoiceTier } from '../generated/schema.ts';
import { openSession } from '../open-session.ts';
import type { Ports } from '../ports.ts';
import type { Session } from '../session.ts';
import { sessionStore } from '../session-store.ts';

const newEmbed = z.object({
  agentId: z.number().optional(),
  agentName: text(200).optional(),
  personaPrompt: text(20_000).optional(),
  position: text(200).optional(),
  useCase: graphEnum<AgentUseCase>().optional(),
  voiceTier: graphEnum<VoiceTier>().optional(),
  clientId: anyText(1_000).optional(),
});

type NewEmbed = z.output<typeof newEmbed>;

const personaFields = ['agentName', 'personaPrompt', 'position'] as const;
const defaultName = 'Assistant';

/**
 * Starts a session for a browser. The browser receives only the token that is returned. The session's first turn is the agent's greeting.
 * If an earlier call with the same effect key has started a session, returns that session with a new token.
 * @throws DomainError `invalid` if the input is invalid
 * @throws DomainError `notFound` if the agent does not exist
 * @throws DomainError `forbidden` with reason `NO_TENANT` if the tenant was just deleted
 */
export async function sdkStart(ports: Ports, request: TenantRequest, input: SdkStartInput): Promise<SdkStartResult> {
  const given = parseInput(newEmbed, withoutNulls(input));
  const which = agentOf(given);
  const { tenantId } = request.caller;
  // The effect key is checked before the agent is loaded, because the agent may have been deleted before a retry.
  const started = await committedUnder(ports.database, request);
  if (started !== undefined) {
    const session = await ports.database.transact(tenantId, (db) => sessionStore(db).get(Number(started)));
    const { agentId } = session;
    return startResult(ports, session, await resolve(ports, request, { agent: { $case: 'agentId', value: agentId } }));
  }
  const resolved = await resolve(ports, request, which);
  assertStartable(resolved.agent);
  const session = await openSession(
    ports,
    request,
    {
      agentId: resolved.agent.id,
      clientExternalId: given.clientId?.trim() ? given.clientId : randomUUID(),
      metadata: null,
    },
    { kind: 'turn' },
  );
  return startResult(ports, session, resolved);
}

/**
 * Returns the agent, or the persona, that the input names.
 * @throws DomainError `invalid` if the input names neither an agent nor a persona, or names both
 */
function agentOf(given: NewEmbed): ResolveEmbedAgentRequest {
  const { agentId, agentName = defaultName, personaPrompt, position = defaultName, useCase, voiceTier } = given;
  if (agentId === undefined) {
    if (personaPrompt === undefined) throw refused('personaPrompt', 'is required without agentId');
    const persona = { name: agentName, personaPrompt, position, useCase: useCase ?? '', voiceTier: voiceTier ?? '' };
    return { agent: { $case: 'persona', value: persona } };
  }
  const beside = personaFields.filter((field) => given[field] !== undefined);
  if (beside.length > 0) throw refused(beside, 'cannot be given beside agentId');
  if (parseId(agentId) === undefined) throw notFound('Agent', agentId);
  return { agent: { $case: 'agentId', value: agentId } };
}

function refused(fields: string | readonly string[], message: string): DomainError {
  const problems: FieldProblem[] = [fields].flat().map((field) => ({ path: `input.${field}`, message }));
  return new DomainError('invalid', `${problems.map(({ path }) => path).join(', ')} ${message}`, { fields: problems });
}

interface Resolved {
  agent: Agent;
  avatar: Avatar;
}

async function resolve(ports: Ports, { caller }: TenantRequest, which: ResolveEmbedAgentRequest): Promise<Resolved> {
  const answer: ResolveEmbedAgentResponse = await ports.agent
    .resolveEmbedAgent(which, { caller, expectedErrors: ['notFound', 'conflict', 'invalid'] })
    .catch((error: unknown) => {
      const { agent } = which;
      throw isDomainError(error, 'notFound') && agent?.$case === 'agentId' ? notFound('Agent', agent.value) : error;
    });
  const { agent, avatar } = answer;
  if (!agent || !avatar) throw new Error('the agent service resolved an agent without its facts');
  return { agent, avatar };
}

function assertStartable({ id, deleted, active }: Agent): void {
  if (deleted) throw notFound('Agent', id);
  if (!active) throw badRequest(`Agent ${id} is not active`);
}

function startResult(ports: Ports, session: Session, { agent, avatar }: Resolved): SdkStartResult {
  const { id: sessionId, tenantId } = session;
  const { graphqlEndpoint, avatarServiceUrl } = ports.embed;
  const { token } = ports.tokens.mint({
    audience: 'session',
    tenantId,
    sessionId,
    avatarBackendConfig: avatar.hosted,
  });
  return {
    sessionId,
    agentId: agent.id,
    avatarToken: token,
    avatarServiceUrl,
    graphqlEndpoint,
    avatarGlb: avatar.glb,
    avatarGender: avatar.gender,
    ttsVoice: avatar.ttsVoice,
    ttsLang: avatar.ttsLang,
    lipsyncLang: avatar.lipsyncLang,
    speakingRate: avatar.speakingRate,
    vadThreshold: avatar.vadThreshold,
  };
}
