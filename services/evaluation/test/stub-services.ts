import { DomainError, notFound } from '@parley/kernel/errors';
import {
  Agent,
  type AgentServiceImplementation,
  DescribeModelResponse,
  type GenerateRequest,
  GenerateResponse,
} from '@parley/protos/parley/agent/v1/agent';
import { type GetTenantResponse, type IdentityServiceImplementation } from '@parley/protos/parley/identity/v1/identity';
import { Message, type SessionServiceImplementation } from '@parley/protos/parley/session/v1/session';
import type { MeshContext } from '@parley/rpc/server';

export const interviewer = Agent.fromPartial({
  id: 5,
  name: 'Ivy',
  personaPrompt: 'You interview candidates for database engineering.',
  position: 'Recruiter',
  subject: 'Databases',
  useCase: 'INTERVIEW',
  active: true,
});

export const modelJudgement = {
  score: 87,
  summary: 'Knew how indexes work.',
  strengths: ['Concrete examples'],
  weaknesses: ['Short on transactions'],
  recommendation: 'HIRE',
};

/** Makes messages from lines of the form `MODEL: …` and `USER: …`. */
export function conversation(...lines: string[]): Message[] {
  return lines.map((line, turnIndex) =>
    Message.fromPartial({
      id: turnIndex + 1,
      sessionId: 1,
      role: line.startsWith('USER') ? 'USER' : 'MODEL',
      text: line.slice(line.indexOf(':') + 2),
      turnIndex,
      createdAt: new Date('2026-01-02T03:04:05.678Z'),
      updatedAt: new Date('2026-01-02T03:04:05.678Z'),
    }),
  );
}

export const shortConversation = conversation(
  'MODEL: What is an index?',
  'USER: A structure that makes lookups fast in databases',
);

export type Answer = (
  request: GenerateRequest,
  context: MeshContext & { signal: AbortSignal },
) => Promise<GenerateResponse>;

/** Answers every request with `value`: text, or a value that is sent as JSON. */
export function answering(value: unknown): Answer {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return async () =>
    GenerateResponse.fromPartial({
      text,
      tokensIn: 1,
      tokensOut: 1,
      providerId: 'DIRECT_MODEL_API',
      modelId: 'judge-1',
    });
}

export const offlineOnly: Answer = async (request, context) => ({
  ...(await answering('')(request, context)),
  offline: true,
});

export function failing(...[kind, message, details]: ConstructorParameters<typeof DomainError>): Answer {
  return () => Promise.reject(new DomainError(kind, message, details));
}

/** Stubs of the services that the evaluation service calls. */
export interface StubServices {
  agentRpc: Partial<AgentServiceImplementation<MeshContext>>;
  sessionRpc: Partial<SessionServiceImplementation<MeshContext>>;
  identityRpc: Partial<IdentityServiceImplementation<MeshContext>>;
  /** Tenants by id. A tenant that is not listed is active. */
  tenants: Map<number, Partial<GetTenantResponse>>;
  tenantsAsked: number;
  /** Agents of tenant 1. */
  agents: Map<number, Agent>;
  /** The model of all agents. */
  model: DescribeModelResponse;
  /** Transcripts of tenant 1, by session. */
  transcripts: Map<number, Message[]>;
  messagesPerPart: number;
  /** Model answers, one per request; the last one repeats. */
  answers: Answer[];
  /** The requests to the model, in the order of arrival. */
  asked: GenerateRequest[];
}

export function stubServices(): StubServices {
  const script: StubServices = {
    agents: new Map([[interviewer.id, interviewer]]),
    transcripts: new Map([[1, shortConversation]]),
    messagesPerPart: 2,
    answers: [answering(modelJudgement)],
    asked: [],
    tenants: new Map(),
    model: DescribeModelResponse.fromPartial({
      contextTokens: 16_384,
      maxOutputTokens: 4_096,
      providerId: 'DIRECT_MODEL_API',
      modelId: 'judge-1',
    }),
    tenantsAsked: 0,
    agentRpc: {
      async getAgent({ agentId }, { caller }) {
        const agent = caller.tenantId === 1 ? script.agents.get(agentId) : undefined;
        if (!agent) throw notFound('Agent', agentId);
        return { agent };
      },
      describeModel: async () => script.model,
      generate(request, context) {
        script.asked.push(request);
        const answer = script.answers[Math.min(script.asked.length, script.answers.length) - 1];
        return answer ? answer(request, context) : Promise.reject(new Error('the test gives no answer'));
      },
    },
    sessionRpc: {
      async *streamTranscript({ sessionId }, { caller }) {
        const messages = caller.tenantId === 1 ? script.transcripts.get(sessionId) : undefined;
        if (!messages) throw notFound('Session', sessionId);
        for (let at = 0; at < messages.length; at += script.messagesPerPart) {
          const part = messages.slice(at, at + script.messagesPerPart);
          yield { lines: part.map(({ role, text, turnIndex, createdAt }) => ({ role, text, turnIndex, createdAt })) };
        }
      },
    },
    identityRpc: {
      async getTenant({ tenantId }, { caller }) {
        script.tenantsAsked += 1;
        if (caller.tenantId !== tenantId) throw notFound('Tenant', tenantId);
        return { tenantId, plan: 'DEV', suspended: false, deleted: false, ...script.tenants.get(tenantId) };
      },
    },
  };
  return script;
}
