import { codePoints } from '@parley/kernel/input-checks';
import type { Spent } from '@parley/metering/ledger';
import type { TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import { type Model, type ModelRequest, noUsage, type TokenUsage } from '../models/model.ts';
import { countRequestTokens, estimateUsage, hasTokenizer } from '../models/token-counter.ts';
import { estimateRequestTokens } from '../models/token-estimate.ts';
import type { CallCosts } from './call-cost.ts';

/** A request that is sent to a model and not answered yet. */
interface Asked {
  model: Model;
  contextTokens: number;
  text: string;
  thought: string;
  characters: number;
}

export interface CallSpent {
  spent: Spent;
  estimated: boolean;
}

export type CallUsage = ReturnType<typeof callUsage>;

/** Tracks what one call of a model chain consumes: its failed attempts, and the request in flight. */
export function callUsage({ costOf }: Pick<CallCosts, 'costOf'>, request: ModelRequest, first: Model) {
  const attempts: { spent: Spent; usage: TokenUsage }[] = [];
  let last = first;
  let asked: Asked | undefined;

  /** Returns the given usage plus the usage of all failed attempts, under the name of the model that was asked last. */
  function inAll(usage: TokenUsage): CallSpent {
    const spent = costOf(last, usage);
    for (const { spent: earlier } of attempts) {
      for (const figure of ['tokensIn', 'tokensCached', 'tokensOut'] as const) spent[figure] += earlier[figure];
      spent.costUsdE8 += earlier.costUsdE8;
    }
    return { spent, estimated: [usage, ...attempts.map((each) => each.usage)].some(({ estimated }) => estimated) };
  }

  async function count(from: Asked, onCounted: () => void): Promise<void> {
    const tokens = await countRequestTokens(from.model, request);
    if (asked !== from || tokens === from.contextTokens) return;
    from.contextTokens = tokens;
    onCounted();
  }

  const tokensWritten = () => Math.ceil((asked?.characters ?? 0) / 4);

  return {
    /** The text that the current model has written so far. */
    get text(): string {
      return asked?.text ?? '';
    },
    tokensWritten,

    /**
     * Records that a model is asked.
     * @param onCounted called if the tokenizer's count of the request differs from the estimate; without this callback, the request's
     * tokens are only estimated
     */
    asked(model: Model, onCounted?: () => void): void {
      last = model;
      asked = { model, contextTokens: estimateRequestTokens(request), text: '', thought: '', characters: 0 };
      if (onCounted && hasTokenizer(model.modelId)) void count(asked, onCounted);
    },
    wrote(what: 'text' | 'thought', piece: string): void {
      if (!asked) return;
      asked[what] += piece;
      asked.characters += codePoints(piece);
    },
    /** Records that the current model has failed. Another model may be asked next. */
    fellBack(model: Model, usage: TokenUsage): void {
      last = model;
      asked = undefined;
      if (usage.tokensIn + usage.tokensOut > 0) attempts.push({ spent: costOf(model, usage), usage });
    },

    /** Returns the usage so far, with an estimate for the request in flight. */
    soFar(): TurnUsage {
      const { contextTokens = 0 } = asked ?? {};
      const running = { tokensIn: contextTokens, tokensCached: 0, tokensOut: tokensWritten(), estimated: true };
      return toTurnUsage(inAll(running), contextTokens);
    },
    /** Returns the total of a call that `model` has answered. */
    served(model: Model, usage: TokenUsage): CallSpent {
      last = model;
      return inAll(usage);
    },
    /**
     * Returns the total of a call that failed with this usage. If `usage` belongs to an attempt that is already counted, it is not added
     * again.
     */
    failed(usage: TokenUsage): CallSpent {
      const isCounted = attempts.some((attempt) => attempt.usage === usage); // true if no model was asked after the failed one
      return inAll(isCounted ? noUsage : usage);
    },
    /**
     * Returns the total of a call that its caller abandoned. If a model was asked, the total includes the request and what the model had
     * written.
     */
    async abandoned(): Promise<CallSpent & { served: boolean }> {
      if (!asked) return { ...inAll(noUsage), served: false };
      return { ...inAll(await estimateUsage(asked.model, request, asked.text + asked.thought)), served: true };
    },
  };
}

export function toTurnUsage({ spent, estimated }: CallSpent, contextTokens: number): TurnUsage {
  const { tokensIn, tokensOut, costUsdE8, providerId, modelId } = spent;
  return { tokensIn, tokensOut, costUsdE8, contextTokens, providerId, modelId, estimated };
}
