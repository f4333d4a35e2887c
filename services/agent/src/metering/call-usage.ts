import { codePoints } from '@parley/kernel/input-checks';
import type { Spent } from '@parley/metering/ledger';
import type { TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import { type Model, type ModelRequest, noUsage, type TokenUsage } from '../models/model.ts';
import { countRequestTokens, estimateUsage, hasTokenizer } from '../models/token-counter.ts';
import { estimateRequestTokens } from '../models/token-estimate.ts';
import type { CallCosts } from './call-cost.ts';

/** A request that a model has not answered yet. */
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

/** What one call of a chain of models takes: the attempts that failed, and the request that runs. */
export function callUsage({ costOf }: Pick<CallCosts, 'costOf'>, request: ModelRequest, first: Model) {
  const attempts: { spent: Spent; usage: TokenUsage }[] = [];
  let last = first;
  let asked: Asked | undefined;

  /** With what attempts took that failed, under the name of the model that was asked last. */
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
    /** What the model that is asked has said. */
    get text(): string {
      return asked?.text ?? '';
    },
    tokensWritten,

    /** A model is asked. @param onCounted called where the tokens of the request differ from their estimate; left out, they are not counted */
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
    /** The model that was asked has failed; another may be asked. */
    fellBack(model: Model, usage: TokenUsage): void {
      last = model;
      asked = undefined;
      if (usage.tokensIn + usage.tokensOut > 0) attempts.push({ spent: costOf(model, usage), usage });
    },

    /** So far, with an estimate of the request that runs. */
    soFar(): TurnUsage {
      const { contextTokens = 0 } = asked ?? {};
      const running = { tokensIn: contextTokens, tokensCached: 0, tokensOut: tokensWritten(), estimated: true };
      return toTurnUsage(inAll(running), contextTokens);
    },
    /** Of a call that `model` has answered. */
    served(model: Model, usage: TokenUsage): CallSpent {
      last = model;
      return inAll(usage);
    },
    /** Of a call that failed with this usage, which may be that of the last attempt. */
    failed(usage: TokenUsage): CallSpent {
      const isCounted = attempts.some((attempt) => attempt.usage === usage); // none was asked since
      return inAll(isCounted ? noUsage : usage);
    },
    /** Of a call that was left before its end: a model that is asked has read the request, and written so much. */
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
