import type { CitationDto, MessageDto, ToolCallDto } from '../../../services/session/src/generated/schema.ts';

/** A type of the schema in its JSON form. */
export type AsJson<T> = T extends Date
  ? string
  : T extends object
    ? { [Key in keyof T]-?: AsJson<Exclude<T[Key], undefined>> }
    : T;

export type Citation = AsJson<Omit<CitationDto, Unread>>;
export type ToolCall = AsJson<Omit<ToolCallDto, Unread>>;
export type Message = AsJson<Omit<MessageDto, Unread | 'citations' | 'toolCalls'>> & {
  citations: Citation[] | null;
  toolCalls: ToolCall[] | null;
};

/** Fields that the documents of the stories do not select. */
export type Unread = '__typename' | 'updatedAt' | 'structuredContent';

export const messageFields = `id sessionId role text turnIndex tokensIn tokensOut costUsd modelId createdAt
  citations { documentId documentName chunkIndex score preview }
  toolCalls { callId name status durationMs errorKind }`;
