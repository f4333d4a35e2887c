import { selectedFields } from '@parley/graph/selected-fields';
import { endSession } from '../end-session.ts';
import { findEvaluation } from '../find-evaluation.ts';
import { interruptSession } from '../interrupt-session.ts';
import { countSessions, findSession, listSessions } from '../read-sessions.ts';
import { sendMessage } from '../send-message.ts';
import { startSession } from '../start-session.ts';
import type { Resolvers } from './generated/resolvers.ts';

export const resolvers: Resolvers = {
  Query: {
    session: (_, { id }, { ports, tenantRequest }, info) => findSession(ports, tenantRequest(info), id),
    sessions: (_, query, { ports, answer, tenantRequest }, info) =>
      listSessions(answer.reading(ports, info), tenantRequest(info), query),
    sessionCount: (_, __, { ports, tenantRequest }, info) => countSessions(ports, tenantRequest(info)),
    // A transcript counts against the answer budget as lists do.
    evaluation: (_, { sessionId }, { ports, answer, tenantRequest }, info) =>
      answer.budget.runExclusive(async (room) => {
        const times = selectedFields(info).times('transcript');
        const maxTranscriptBytes = times === 0 ? 0 : Math.max(1, Math.floor(room.bytesLeft / times));
        const evaluation = await findEvaluation(ports, tenantRequest(info), { sessionId, maxTranscriptBytes });
        if (evaluation && times > 0) room.charge(times * Number(evaluation.transcriptBytes));
        return evaluation;
      }),
  },

  Mutation: {
    startSession: (_, { input }, { ports, tenantRequest }, info) => startSession(ports, tenantRequest(info), input),
    sendMessage: (_, { input }, { ports, tenantRequest }, info) => sendMessage(ports, tenantRequest(info), input),
    endSession: (_, { sessionId }, { ports, tenantRequest }, info) => endSession(ports, tenantRequest(info), sessionId),
    interruptSession: (_, { sessionId }, { ports, tenantRequest }, info) =>
      interruptSession(ports, tenantRequest(info), sessionId),
  },

  SessionDto: {
    agent: ({ agentId }) => ({ __typename: 'AgentDto', id: agentId }),
    messages: ({ id }, page, { messagesOf }, info) => messagesOf(info, id, page),
  },

  EvaluationDto: {
    transcript: ({ transcriptJson }): unknown => JSON.parse(transcriptJson),
  },

  SessionEvent: { __resolveType: ({ __typename }) => __typename },
};
