import { chunkWriter } from '@parley/live/subscriptions/chunk-writer';
import { noUsage } from '@parley/protos/turn-usage';
import type { ReplyChange } from './ask-agent.ts';
import type { PartialReply } from './interrupted-reply.ts';
import type { Ports } from './ports.ts';
import type { FinishReason } from './session.ts';
import { nothingStreamed, type SessionLog } from './session-log.ts';
import { cutCalls, type ToolCall, withCall } from './tool-call.ts';
import { isHandedOver, type TurnRun } from './turn-job.ts';
import type { PreparedTurn } from './turn-store.ts';

/**
 * Collects a reply and appends it to the event log: text and tool calls in order, citations with the first chunk. Never
 * rejects: if the event log is unavailable, the reply is stored but not streamed.
 */
export function replyStream(ports: Ports, run: TurnRun, turn: PreparedTurn, log: SessionLog) {
  const reply: PartialReply & { finishReason: FinishReason | null } = {
    ...nothingStreamed,
    structuredContent: null,
    usage: noUsage,
    isBilled: true,
    finishReason: null,
  };
  const attempt = { ...turn, attempt: run.attempt };
  const chunks = chunkWriter((text) => write(() => writeChunk(text)));
  let isCited = false;
  let isLogAvailable = true;

  async function write(append: () => Promise<void>): Promise<void> {
    if (isHandedOver(run)) return;
    try {
      await append();
    } catch (error) {
      if (isLogAvailable) {
        ports.log.warn({ err: error, sessionId: turn.sessionId }, 'event log append failed; reply not streamed');
      }
      isLogAvailable = false;
    }
  }

  async function writeChunk(text: string): Promise<void> {
    await log.appendChunk(attempt, { text, citations: isCited ? null : reply.citations }, turn.lastEventId);
    isCited = true;
  }

  function pushCall(call: ToolCall): void {
    reply.toolCalls = withCall(reply.toolCalls, call);
    chunks.pushWrite(() => write(() => log.appendCall(attempt, call, turn.lastEventId)));
  }

  return {
    /** The reply so far. */
    reply,

    push({ text, toolCall, ...changed }: ReplyChange): void {
      const { usage = reply.usage, citations = reply.citations, structuredContent = reply.structuredContent } = changed;
      const { finishReason = reply.finishReason } = changed;
      Object.assign(reply, { text: reply.text + text, usage, citations, structuredContent, finishReason });
      chunks.push(text);
      if (toolCall) pushCall(toolCall);
    },

    /** Marks running tool calls as cancelled, and resolves when the whole reply is written to the event log. */
    async end(): Promise<void> {
      for (const call of cutCalls(reply.toolCalls)) pushCall(call);
      await chunks.flush();
    },
  };
}
