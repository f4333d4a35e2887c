import { askedFields } from '@parley/chassis/graph/asked-fields';
import type { Evaluation } from '@parley/protos/parley/evaluation/v1/evaluation';
import type { Resolvers } from './generated/resolvers.ts';

/** An evaluation service of an older version gives no figure, and the transcript whatever it takes. */
function transcriptBytes({ transcriptBytes, transcriptJson }: Evaluation): number {
  return Math.max(Number(transcriptBytes), Buffer.byteLength(transcriptJson));
}

/** The fields of the subgraph, each root field one use case. The subscription is served by `subscriptions.ts`. */
export const resolvers: Resolvers = {
  Query: {
    session: (_, { id }, { app, caller }) => app.findSession(caller, id),
    sessions: (_, query, { reading, caller }, info) => reading(info).listSessions(caller, query),
    sessionCount: (_, __, { app, caller }) => app.countSessions(caller),
    // Its transcript may be as long as a list.
    evaluation: (_, { sessionId }, { app, caller, answer }, info) =>
      answer.budget.inTurn(async (room) => {
        const times = askedFields(info).times('transcript');
        const most = times === 0 ? 0 : Math.max(1, Math.floor(room.bytesLeft / times));
        const evaluation = await app.findEvaluation(caller, sessionId, most);
        if (evaluation && times > 0) room.charge(times * transcriptBytes(evaluation));
        return evaluation;
      }),
  },

  Mutation: {
    startSession: (_, { input }, { app, caller }) => app.startSession(caller, input),
    sendMessage: (_, { input }, { app, caller, gone }) => app.sendMessage(caller, input, gone),
    endSession: (_, { sessionId }, { app, caller, gone }) => app.endSession(caller, sessionId, gone),
    interruptSession: (_, { sessionId }, { app, caller, gone }) => app.interruptSession(caller, sessionId, gone),
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
