import type { TenantRequest } from '@parley/kernel/caller-request';
import { isDomainError, unavailable } from '@parley/kernel/errors';
import type { TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import { type Passage, RetrievalMode } from '@parley/protos/parley/knowledge/v1/knowledge';
import { noUsage, sumOf } from '@parley/protos/turn-usage';
import type { ProviderChain } from '../models/provider-chain.ts';
import type { Ports } from '../ports.ts';
import { fittingPassages } from './passages.ts';
import { standaloneQuestion } from './standalone-question.ts';
import type { TurnEvent, TurnScope } from './turn.ts';

/**
 * The share of a turn's time limit that the knowledge service may spend on one base, so that the passages of other bases arrive in time.
 */
const shareOfTime = 0.8;

export interface Search {
  knowledgeBaseIds: number[];
  /** Maximum number of passages. */
  topK: number;
}

export interface Retrieved {
  /** The passages, best first; undefined if the search was skipped or failed. */
  passages: Passage[] | undefined;
  /** Usage of rewriting the question and of embedding it. The usage of the reply is not included. */
  usage: TurnUsage;
}

/**
 * Retrieves the passages of a turn. Returns undefined if there is nothing to search, or if the bases cannot be searched
 * in time; the turn then continues without passages. Yields events as the usage grows.
 * @throws DomainError `invalid`: `SPEND_CAP_REACHED`
 */
export async function* retrievePassages(
  ports: Ports,
  request: TenantRequest,
  { search: wanted, chain, scope }: { search: Search | undefined; chain: ProviderChain; scope: TurnScope },
): AsyncGenerator<TurnEvent, Retrieved> {
  if (!wanted) return { passages: undefined, usage: noUsage };
  const { agentId, sessionId } = scope.account;
  const question = await standaloneQuestion(ports, request, { chain, scope });
  const { text: query, usage: { tokensIn, tokensOut, costUsdE8 } = noUsage } = question;
  const usage = { ...noUsage, tokensIn, tokensOut, costUsdE8 };
  if (question.usage) yield { text: '', usage };
  const { retrievalTimeoutMs: timeoutMs, passageTokens } = ports.passages;
  const timeLimitMs = Math.ceil(timeoutMs * shareOfTime);
  const { caller, signal } = request;
  const search = { ...wanted, query, callId: `${scope.callId}.retrieve`, agentId, sessionId, timeLimitMs };
  try {
    const {
      passages,
      usage: embedding,
      searchFailed,
    } = await ports.knowledge.retrieve(
      { ...search, mode: RetrievalMode.RETRIEVAL_MODE_HYBRID },
      { caller, signal, timeoutMs, expectedErrors: ['invalid'] },
    );
    const all = embedding ? sumOf(usage, embedding) : usage;
    if (embedding) yield { text: '', usage: all };
    if (searchFailed) return without(unavailable('Knowledge could not search its bases'), all);
    const budget = Math.min(passageTokens, Math.floor(chain.first.contextTokens / 4));
    return { passages: fittingPassages(passages, budget), usage: all };
  } catch (error) {
    signal.throwIfAborted();
    if (isDomainError(error, 'invalid') && error.reason === 'SPEND_CAP_REACHED') throw error;
    return without(error, usage);
  }

  function without(err: unknown, spent: TurnUsage): Retrieved {
    ports.log.warn({ err, agentId, sessionId }, 'passages not retrieved; replying without');
    return { passages: undefined, usage: spent };
  }
}
