import type { TenantDb } from '@parley/postgres/database/types';
import { estimateTokens } from '@parley/text/token-estimate';
import { messageStore } from './message-store.ts';
import type { Ports } from './ports.ts';
import type { Session } from './session.ts';
import type { OpenTurn, Reply } from './turn-store.ts';

/** What is known of a reply whose end nobody heard. */
export interface CutText {
  text: string;
  /** What the agent said of the context that it sent; undefined when nobody here has heard it. */
  contextTokens: number | undefined;
}

export interface Cut {
  session: Session;
  turn: Pick<OpenTurn, 'turnIndex'>;
  said: CutText;
}

/**
 * A reply that was cut, so that the agent gave no figures: characters / 4. Where no model was asked, nothing went in, and the
 * last context sent is still the one before.
 */
export async function cutReply(ports: Ports, db: TenantDb, { session, turn, said }: Cut): Promise<Reply> {
  const { text } = said;
  const sent = said.contextTokens ?? (text === '' ? undefined : await estimateContext(ports, db, session, turn));
  return {
    text,
    tokensIn: sent ?? 0,
    tokensOut: estimateTokens(text),
    costUsdE8: 0n,
    contextTokens: sent ?? session.totalTokensInContext,
    interrupted: true,
  };
}

/** For a reply that has begun and whose context only a lost process knew: no less than the last one, nor than its history. */
async function estimateContext(
  { settings }: Ports,
  db: TenantDb,
  { id, totalTokensInContext }: Session,
  { turnIndex }: Cut['turn'],
): Promise<number> {
  const history = await messageStore(db).sumTokens(id, turnIndex);
  return Math.max(totalTokensInContext, Math.min(history, settings.historyTokens));
}
