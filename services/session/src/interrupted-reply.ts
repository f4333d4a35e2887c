import type { TenantDb } from '@parley/postgres/database/types';
import type { TokenPrices, TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import type { Citation } from '@parley/protos/parley/agent/v1/citations';
import { estimateTokens } from '@parley/text/token-estimate';
import { messageStore } from './message-store.ts';
import type { Ports } from './ports.ts';
import type { Session } from './session.ts';
import type { OpenTurn, Reply } from './turn-store.ts';
import { sumOf, usageOf } from './turn-usage.ts';

export interface PartialReply {
  text: string;
  citations: Citation[] | null;
  /** Tokens of the context sent to the model; undefined if none was asked, or only a lost process knows. */
  contextTokens: number | undefined;
  /** Tokens that the model took beside its text; 0 likewise. */
  thoughtTokens: number;
  /** Of the model that was asked. Undefined if none was, or only a lost process knows. */
  prices?: TokenPrices | undefined;
  /** What calls took that ended before the model was asked; undefined likewise. */
  earlier?: TurnUsage | undefined;
}

export interface InterruptedTurn {
  session: Session;
  turn: Pick<OpenTurn, 'turnIndex'>;
  partial: PartialReply;
}

/** With estimated tokens. If no model was asked, the input is 0 and the session's last context size stays. */
export async function interruptedReply(
  ports: Ports,
  db: TenantDb,
  { session, turn, partial }: InterruptedTurn,
): Promise<Reply> {
  const { text, citations, prices, earlier, thoughtTokens } = partial;
  const sent = partial.contextTokens ?? (text === '' ? undefined : await estimateContext(ports, db, session, turn));
  const used = { tokensIn: sent ?? 0, tokensOut: estimateTokens(text) + thoughtTokens };
  return {
    text,
    citations,
    ...sumOf(usageOf(used, prices), earlier),
    modelId: prices?.modelId || null, // none from an agent of an older version
    contextTokens: sent ?? session.totalTokensInContext,
    interrupted: true,
  };
}

/** For a reply whose process was lost: the larger of the last context and the history that was sent. */
async function estimateContext(
  { settings }: Ports,
  db: TenantDb,
  { id, totalTokensInContext }: Session,
  { turnIndex }: InterruptedTurn['turn'],
): Promise<number> {
  const history = await messageStore(db).sumTokens(id, turnIndex);
  return Math.max(totalTokensInContext, Math.min(history, settings.historyTokens));
}
