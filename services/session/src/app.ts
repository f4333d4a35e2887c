import type { Caller } from '@parley/chassis/caller';
import { endSession } from './end-session.ts';
import type {
  QuerySessionsArgs,
  SendMessageInput,
  SessionDtoMessagesArgs,
  StartSessionInput,
} from './generated/schema.ts';
import { findEvaluation } from './get-evaluation.ts';
import { interruptSession } from './interrupt-session.ts';
import type { Ports } from './ports.ts';
import {
  countSessions,
  findSession,
  getTranscript,
  listMessages,
  listSessions,
  streamTranscript,
} from './read-sessions.ts';
import { resolveSessions } from './resolve-sessions.ts';
import { sendMessage } from './send-message.ts';
import { startSession } from './start-session.ts';
import { type WatchSession, watchSession } from './watch-session.ts';

export type App = ReturnType<typeof createApp>;

/** What session can do, each use case bound to its ports. */
export function createApp(ports: Ports) {
  return {
    findSession: (caller: Caller, id: string | number) => findSession(ports, caller, id),
    listSessions: (caller: Caller, query: QuerySessionsArgs) => listSessions(ports, caller, query),
    countSessions: (caller: Caller) => countSessions(ports, caller),
    listMessages: (caller: Caller, sessionIds: readonly number[], query: SessionDtoMessagesArgs) =>
      listMessages(ports, caller, sessionIds, query),
    findEvaluation: (caller: Caller, sessionId: number, maxTranscriptBytes = 0) =>
      findEvaluation(ports, caller, sessionId, maxTranscriptBytes),
    startSession: (caller: Caller, input: StartSessionInput) => startSession(ports, caller, input),
    sendMessage: (caller: Caller, input: SendMessageInput, gone?: AbortSignal) =>
      sendMessage(ports, caller, input, gone),
    interruptSession: (caller: Caller, id: string, gone?: AbortSignal) => interruptSession(ports, caller, id, gone),
    endSession: (caller: Caller, id: string, gone?: AbortSignal) => endSession(ports, caller, id, gone),
    resolveSessions: (caller: Caller, ids: readonly number[]) => resolveSessions(ports, caller, ids),
    getTranscript: (caller: Caller, id: number) => getTranscript(ports, caller, id),
    streamTranscript: (caller: Caller, id: number) => streamTranscript(ports, caller, id),
    watchSession: (caller: Caller, request: WatchSession, signal: AbortSignal) =>
      watchSession(ports, caller, request, signal),
  };
}
