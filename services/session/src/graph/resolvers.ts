import { effectKeyOf } from '@parley/graph/effect-key';
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
    session: (_, { id }, { ports, caller }) => findSession(ports, caller, id),
    sessions: (_, query, { ports, answer, caller }, info) => listSessions(answer.reading(ports, info), caller, query),
    sessionCount: (_, __, { ports, caller }) => countSessions(ports, caller),
    // A transcript counts against the answer budget as lists do.
    evaluation: (_, { sessionId }, { ports, caller, answer }, info) =>
      answer.budget.runExclusive(async (room) => {
        const times = selectedFields(info).times('transcript');
        const most = times === 0 ? 0 : Math.max(1, Math.floor(room.bytesLeft / times));
        const evaluation = await findEvaluation(ports, caller, sessionId, most);
        if (evaluation && times > 0) room.charge(times * Number(evaluation.transcriptBytes));
        return evaluation;
      }),
  },

  Mutation: {
    startSession: (_, { input }, { ports, caller }, info) =>
      startSession(ports, caller, input, effectKeyOf(caller, info)),
    sendMessage: (_, { input }, { ports, caller, gone }, info) =>
      sendMessage(ports, caller, input, gone, effectKeyOf(caller, info)),
    endSession: (_, { sessionId }, { ports, caller, gone }) => endSession(ports, caller, sessionId, gone),
    interruptSession: (_, { sessionId }, { ports, caller, gone }) => interruptSession(ports, caller, sessionId, gone),
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
