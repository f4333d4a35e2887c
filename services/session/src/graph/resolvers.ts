import { askedFields } from '@parley/chassis/graph/asked-fields';
import { scalars } from '@parley/chassis/graph/scalars';
import type { Evaluation } from '@parley/protos/parley/evaluation/v1/evaluation';
import type { GraphQLResolveInfo } from 'graphql';
import type { MessagesQuery, SessionsQuery } from '../read-sessions.ts';
import type { SendMessage } from '../send-message.ts';
import type { Session } from '../session.ts';
import type { StartSession } from '../start-session.ts';
import type { Context } from './context.ts';

interface HasSessionId {
  sessionId: string;
}

interface HasNumber {
  sessionId: number;
}

/** An evaluation service of an older version gives no figure, and the transcript whatever it takes. */
function transcriptBytes({ transcriptBytes, transcriptJson }: Evaluation): number {
  return Math.max(Number(transcriptBytes), Buffer.byteLength(transcriptJson));
}

export const resolvers = {
  DateTime: scalars.DateTime,
  JSON: scalars.JSON,

  Query: {
    session: (_: unknown, { id }: { id: string }, { app, caller }: Context) => app.findSession(caller, id),
    sessions: (_: unknown, query: SessionsQuery, { app, caller, budget }: Context, info: GraphQLResolveInfo) =>
      app.listSessions(caller, query, { budget, fields: askedFields(info) }),
    sessionCount: (_: unknown, _args: unknown, { app, caller }: Context) => app.countSessions(caller),
    // Its transcript may be as long as a list.
    evaluation: (_: unknown, { sessionId }: HasNumber, { app, caller, budget }: Context, info: GraphQLResolveInfo) =>
      budget.inTurn(async (room) => {
        const times = askedFields(info).times('transcript');
        const most = times === 0 ? 0 : Math.max(1, Math.floor(room.bytesLeft / times));
        const evaluation = await app.findEvaluation(caller, sessionId, most);
        if (evaluation && times > 0) room.charge(times * transcriptBytes(evaluation));
        return evaluation;
      }),
  },

  Mutation: {
    startSession: (_: unknown, { input }: { input: StartSession }, { app, caller }: Context) =>
      app.startSession(caller, input),
    sendMessage: (_: unknown, { input }: { input: SendMessage }, { app, caller, gone }: Context) =>
      app.sendMessage(caller, input, gone),
    endSession: (_: unknown, { sessionId }: HasSessionId, { app, caller, gone }: Context) =>
      app.endSession(caller, sessionId, gone),
    interruptSession: (_: unknown, { sessionId }: HasSessionId, { app, caller, gone }: Context) =>
      app.interruptSession(caller, sessionId, gone),
  },

  SessionDto: {
    agent: ({ agentId }: Session) => ({ __typename: 'AgentDto', id: agentId }),
    messages: ({ id }: Session, page: MessagesQuery, { messagesOf }: Context, info: GraphQLResolveInfo) =>
      messagesOf(id, page, askedFields(info)),
  },

  EvaluationDto: {
    transcript: ({ transcriptJson }: Evaluation): unknown => JSON.parse(transcriptJson),
  },

  // The gateway serves subscriptions from `FollowSession`; these say only which type an event is.
  SessionEvent: { __resolveType: ({ __typename }: { __typename: string }) => __typename },
};
