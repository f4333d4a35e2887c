import { DomainError, notFound } from '@parley/kernel/errors';
import type {
  Agent,
  AgentServiceImplementation,
  DescribeModelResponse,
  GenerateRequest,
  GenerateResponse,
} from '@parley/protos/parley/agent/v1/agent';
import type { GetTenantResponse, IdentityServiceImplementation } from '@parley/protos/parley/identity/v1/identity';
import type { Message, SessionServiceImplementation } from '@parley/protos/parley/session/v1/session';
import type { MeshContext } from '@parley/rpc/server';

export const interviewer: Agent = {
  id: 5,
  name: 'Ivy',
  personaPrompt: 'You interview candidates for database engineering.',
  position: 'Recruiter',
  subject: 'Databases',
  openingGreeting: '',
  useCase: 'INTERVIEW',
  active: true,
  deleted: false,
  evaluationPromptTemplate: '',
};

export const modelJudgement = {
  score: 87,
  summary: 'Knew how indexes work.',
  strengths: ['Concrete examples'],
  weaknesses: ['Short on transactions'],
  recommendation: 'HIRE',
};

/** A conversation of lines `MODEL: …` and `USER: …`. */
export function conversation(...lines: string[]): Message[] {
  return lines.map((line, turnIndex) => ({
    id: turnIndex + 1,
    sessionId: 1,
    role: line.startsWith('USER') ? 'USER' : 'MODEL',
    text: line.slice(line.indexOf(':') + 2),
    turnIndex,
    tokensIn: 0,
    tokensOut: 0,
    costUsdE8: 0n,
    structuredContentJson: '',
    createdAt: new Date('2026-01-02T03:04:05.678Z'),
    updatedAt: new Date('2026-01-02T03:04:05.678Z'),
  }));
}

export const usual = conversation('MODEL: What is an index?', 'USER: A structure that makes lookups fast in databases');

export type Answer = (
  request: GenerateRequest,
  context: MeshContext & { signal: AbortSignal },
) => Promise<GenerateResponse>;

/** A model's answer, as text or as what is to be JSON. */
export function answering(value: unknown): Answer {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return async () => ({
    text,
    offline: false,
    tokensIn: 1,
    tokensOut: 1,
    costUsdE8: 0n,
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

const unasked = () => Promise.reject(new Error('evaluation does not ask this'));

/** Agent, session and identity services that answer as the test says. */
export interface Neighbours {
  agentRpc: AgentServiceImplementation<MeshContext>;
  sessionRpc: SessionServiceImplementation<MeshContext>;
  identityRpc: IdentityServiceImplementation<MeshContext>;
  /** What has become of tenants; of one that is not here: nothing. */
  tenants: Map<number, Partial<GetTenantResponse>>;
  /** How often identity was asked for a tenant. */
  tenantsAsked: number;
  /** Tenant 1's. */
  agents: Map<number, Agent>;
  /** What answers for all of them. */
  model: DescribeModelResponse;
  /** Tenant 1's, by session. */
  transcripts: Map<number, Message[]>;
  /** How many of them a part of a transcript holds. */
  messagesAPart: number;
  /** How the model answers, in turn; the last one goes on. */
  answers: Answer[];
  /** What the model was asked, in order. */
  asked: GenerateRequest[];
}

export function neighbours(): Neighbours {
  const script: Neighbours = {
    agents: new Map([[interviewer.id, interviewer]]),
    transcripts: new Map([[1, usual]]),
    messagesAPart: 2,
    answers: [answering(modelJudgement)],
    asked: [],
    tenants: new Map(),
    model: {
      offline: false,
      contextTokens: 16_384,
      maxOutputTokens: 4_096,
      providerId: 'DIRECT_MODEL_API',
      modelId: 'judge-1',
    },
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
      runTurn: () => {
        throw new Error('evaluation does not ask this');
      },
    },
    sessionRpc: {
      getTranscript: unasked,
      async *streamTranscript({ sessionId }, { caller }) {
        const messages = caller.tenantId === 1 ? script.transcripts.get(sessionId) : undefined;
        if (!messages) throw notFound('Session', sessionId);
        for (let at = 0; at < messages.length; at += script.messagesAPart) {
          const part = messages.slice(at, at + script.messagesAPart);
          yield { lines: part.map(({ role, text, turnIndex, createdAt }) => ({ role, text, turnIndex, createdAt })) };
        }
      },
      watchSession: () => {
        throw new Error('evaluation does not ask this');
      },
      followSession: () => {
        throw new Error('evaluation does not ask this');
      },
      resolveSessions: () => Promise.reject(new Error('evaluation does not ask this')),
    },
    identityRpc: {
      async getTenant({ tenantId }, { caller }) {
        script.tenantsAsked += 1;
        if (caller.tenantId !== tenantId) throw notFound('Tenant', tenantId);
        return { tenantId, plan: 'DEV', suspended: false, deleted: false, ...script.tenants.get(tenantId) };
      },
      getJwks: unasked,
      resolveSignIn: unasked,
      resolveSignIns: unasked,
      resolveApiKey: unasked,
      rotateSigningKey: unasked,
    },
  };
  return script;
}
