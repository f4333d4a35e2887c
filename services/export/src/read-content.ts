import type { TenantRequest } from '@parley/kernel/caller-request';
import { notFound } from '@parley/kernel/errors';
import { excerpt, sizeOf } from './excerpt.ts';
import type { ExportRecord } from './export-record.ts';
import { highlighter } from './highlights.ts';
import type { Ports } from './ports.ts';
import type { Judgement, StudyKitContent, TranscriptMessage } from './study-kit.ts';

type Source = Pick<ExportRecord, 'sessionId' | 'agentId'>;

/** Whether a session is still active, and its evaluation. The evaluation becomes available some time after the session's end. */
export interface SessionState {
  isActive: boolean;
  evaluation: Judgement | undefined;
}

/**
 * Reads the state of a session.
 * @throws DomainError `notFound` if the session does not exist
 * @throws DomainError `unavailable` if a service does not respond
 */
export async function readState(
  { session, evaluation }: Ports,
  request: TenantRequest,
  { sessionId }: Source,
): Promise<SessionState> {
  const { sessions } = await session.resolveSessions({ sessionIds: [sessionId] }, request);
  const status = sessions[0]?.status;
  if (status === undefined) throw notFound('Session', sessionId);
  if (status === 'PENDING' || status === 'ACTIVE') return { isActive: true, evaluation: undefined };
  const found = await evaluation.getEvaluation({ sessionId, maxTranscriptBytes: 0n }, request);
  if (!found.evaluation) return { isActive: false, evaluation: undefined };
  const { score, summary, strengths, weaknesses, recommendation } = found.evaluation;
  return { isActive: false, evaluation: { score, summary, strengths, weaknesses, recommendation } };
}

interface ReadOptions {
  source: Source;
  state: SessionState;
  /** Maximum characters of the conversation. Default: unlimited. */
  maxCharacters?: number | undefined;
}

/** The space on the page that a message takes in addition to its text, in characters. */
const charactersOfMessage = 200;

/**
 * Streams the conversation and keeps at most as much as a document can hold. If the conversation has more than `maxCharacters`, returns
 * undefined without reading the rest.
 * @throws DomainError `notFound` if the session does not exist
 * @throws DomainError `unavailable` if a service does not respond
 */
export async function readContent(
  ports: Ports,
  request: TenantRequest,
  { source: { sessionId, agentId }, state, maxCharacters = Number.POSITIVE_INFINITY }: ReadOptions,
): Promise<StudyKitContent | undefined> {
  const { agent } = await ports.agent.getAgent({ agentId }, request);
  if (!agent) throw notFound('Agent', agentId);
  const transcript = excerpt<TranscriptMessage>(ports.limits);
  const highlights = highlighter();
  let characters = 0;
  let from: Date | undefined;
  let until: Date | undefined;
  for await (const { lines } of ports.session.streamTranscript({ sessionId }, request)) {
    for (const { role, text, turnIndex, createdAt = new Date(0) } of lines) {
      const message: TranscriptMessage = { role: role === 'USER' ? 'USER' : 'MODEL', text, turnIndex, createdAt };
      characters += sizeOf(message) + charactersOfMessage;
      if (characters > maxCharacters) return undefined;
      transcript.add(message);
      highlights.add(message);
      from ??= createdAt;
      until = createdAt;
    }
  }
  const { name, position, subject } = agent;
  return {
    sessionId,
    agent: { name, position, subject },
    isActive: state.isActive,
    transcript: transcript.excerpt(),
    from,
    until,
    highlights: highlights.highlights(),
    evaluation: state.evaluation,
  };
}
