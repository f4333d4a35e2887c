import type { TenantDb } from '@parley/postgres/database/types';
import type { TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import { estimateTokens } from '@parley/text/token-estimate';
import { messageStore } from './message-store.ts';
import type { Ports } from './ports.ts';
import type { Session } from './session.ts';
import type { StreamedReply } from './session-log.ts';
import type { OpenTurn, Reply } from './turn-store.ts';

export interface PartialReply extends StreamedReply {
  /** A card, table or list, which arrives with the last text; null until then. */
  structuredContent: unknown;
  usage: TurnUsage;
  /** Whether `usage` includes the usage of `text`; false if the process that streamed the text died. */
  isBilled: boolean;
}

export interface InterruptedTurn {
  session: Session;
  turn: Pick<OpenTurn, 'turnIndex'>;
  partial: PartialReply;
}

/**
 * Completes an interrupted reply. If its text was not billed, tokens are estimated. If no model was called, the session's last
 * context size is unchanged.
 */
export async function interruptedReply(
  ports: Ports,
  db: TenantDb,
  { session, turn, partial }: InterruptedTurn,
): Promise<Reply> {
  const { text, citations, toolCalls, structuredContent, usage, isBilled } = partial;
  const unbilled = isBilled ? '' : text;
  const isContextLost = unbilled !== '' && usage.contextTokens === 0;
  const lostContext = isContextLost ? await estimateContext(ports, db, session, turn) : 0;
  return {
    text,
    citations,
    toolCalls,
    tokensIn: usage.tokensIn + lostContext,
    tokensOut: usage.tokensOut + estimateTokens(unbilled),
    costUsdE8: usage.costUsdE8,
    modelId: usage.modelId || null,
    tokensEstimated: usage.estimated || unbilled !== '',
    finishReason: null,
    structuredContent,
    contextTokens: usage.contextTokens || lostContext || session.totalTokensInContext,
    interrupted: true,
  };
}

/**
 * Estimates the context size of a reply whose process died: the size of the session's last context or of the history that was sent,
 * whichever is larger.
 */
async function estimateContext(
  { settings }: Ports,
  db: TenantDb,
  { id, totalTokensInContext }: Session,
  { turnIndex }: InterruptedTurn['turn'],
): Promise<number> {
  const history = await messageStore(db).sumTokens(id, turnIndex);
  return Math.max(totalTokensInContext, Math.min(history, settings.historyTokens));
}
