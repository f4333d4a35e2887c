import { selectedFields } from '@parley/graph/selected-fields';
import { avatarToken } from '../embed/avatar-token.ts';
import { listCustomerSessions } from '../embed/customer-sessions.ts';
import { refreshAvatarToken } from '../embed/refresh-avatar-token.ts';
import { sdkEndSession } from '../embed/sdk-end-session.ts';
import { sdkSendMessage } from '../embed/sdk-send-message.ts';
import { sdkStart } from '../embed/sdk-start.ts';
import { verifyIdpIdentity } from '../embed/verify-idp-identity.ts';
import { endSession } from '../end-session.ts';
import { listDeliveries } from '../external-sync/list-deliveries.ts';
import { findEvaluation } from '../find-evaluation.ts';
import { getExportRecord } from '../get-export-record.ts';
import { interruptSession } from '../interrupt-session.ts';
import { countSessions, findSession, listSessions } from '../read-sessions.ts';
import { requestStudyKitExport } from '../request-study-kit-export.ts';
import { sendMessage } from '../send-message.ts';
import { transcribeSpeech } from '../speech/transcribe-speech.ts';
import { startSession } from '../start-session.ts';
import type { Resolvers } from './generated/resolvers.ts';

export const resolvers: Resolvers = {
  Query: {
    sessionsByExternalCustomerId: (_, args, { ports, tenantRequest }, info) =>
      listCustomerSessions(ports, tenantRequest(info), args),
    customerUsageSummary: (_, { externalCustomerId }, { usageOf }, info) => usageOf(info, externalCustomerId),
    avatarToken: (_, __, { ports, tenantRequest }, info) => avatarToken(ports, tenantRequest(info)),
    externalSyncDeliveries: (_, args, { ports, answer, tenantRequest }, info) =>
      listDeliveries(answer.reading(ports, info), tenantRequest(info), args),
    session: (_, { id }, { ports, tenantRequest }, info) => findSession(ports, tenantRequest(info), id),
    sessions: (_, query, { ports, answer, tenantRequest }, info) =>
      listSessions(answer.reading(ports, info), tenantRequest(info), query),
    sessionCount: (_, __, { ports, tenantRequest }, info) => countSessions(ports, tenantRequest(info)),
    // The size of a transcript counts against the answer budget, like the size of lists.
    evaluation: (_, { sessionId }, { ports, answer, tenantRequest }, info) =>
      answer.budget.runExclusive(async (room) => {
        const times = selectedFields(info).times('transcript');
        const maxTranscriptBytes = times === 0 ? 0 : Math.max(1, Math.floor(room.remainingBytes / times));
        const evaluation = await findEvaluation(ports, tenantRequest(info), { sessionId, maxTranscriptBytes });
        if (evaluation && times > 0) room.charge(times * Number(evaluation.transcriptBytes));
        return evaluation;
      }),
    exportRecord: (_, { id }, { ports, tenantRequest }, info) => getExportRecord(ports, tenantRequest(info), id),
  },

  Mutation: {
    sdkStart: (_, { input }, { ports, tenantRequest }, info) => sdkStart(ports, tenantRequest(info), input),
    refreshAvatarToken: (_, { input }, { ports, request }, info) => refreshAvatarToken(ports, request(info), input),
    sdkSendMessage: (_, { input }, { ports, tenantRequest }, info) => sdkSendMessage(ports, tenantRequest(info), input),
    sdkVerifyIdpIdentity: (_, { input }, { ports, tenantRequest }, info) =>
      verifyIdpIdentity(ports, tenantRequest(info), input),
    sdkEndSession: (_, { input }, { ports, tenantRequest }, info) => sdkEndSession(ports, tenantRequest(info), input),
    transcribeSpeech: (_, { input }, { ports, tenantRequest }, info) =>
      transcribeSpeech(ports, tenantRequest(info), input),
    startSession: (_, { input }, { ports, tenantRequest }, info) => startSession(ports, tenantRequest(info), input),
    sendMessage: (_, { input }, { ports, tenantRequest }, info) => sendMessage(ports, tenantRequest(info), input),
    endSession: (_, { sessionId }, { ports, tenantRequest }, info) => endSession(ports, tenantRequest(info), sessionId),
    interruptSession: (_, { sessionId }, { ports, tenantRequest }, info) =>
      interruptSession(ports, tenantRequest(info), sessionId),
    requestStudyKitExport: (_, args, { ports, tenantRequest }, info) =>
      requestStudyKitExport(ports, tenantRequest(info), args),
  },

  SessionConnection: {
    edges: ({ sessionIds, ...customer }, _, { ports }) =>
      sessionIds.map((sessionId) => ({ sessionId, cursor: ports.cursors.cursorOf(customer, sessionId) })),
    pageInfo: ({ sessionIds, hasNextPage, ...customer }, _, { ports }) => {
      const last = sessionIds.at(-1);
      return { hasNextPage, endCursor: last === undefined ? null : ports.cursors.cursorOf(customer, last) };
    },
    totalCount: (customer, _, { countOf }, info) => countOf(info, customer),
  },

  SessionEdge: {
    node: ({ sessionId }, _, { sessionOf }, info) => sessionOf(info, sessionId),
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
