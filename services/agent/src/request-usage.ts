import { codePoints } from '@parley/kernel/input-checks';
import type { RequestUsage } from '@parley/protos/parley/agent/v1/agent';
import type { Model, ModelRequest } from './models/model.ts';
import { countRequestTokens, hasTokenizer } from './models/token-counter.ts';
import { estimateRequestTokens } from './models/token-estimate.ts';
import { sideEvents } from './side-events.ts';

/** More is known of the request that runs. */
export interface UsedEvent {
  type: 'used';
  usage: RequestUsage;
}

/** So many tokens of thoughts are told at once, since each event is a message of its own. */
const thoughtStep = 64;

/** What the running request has taken so far, for who leaves before the model says. */
export function requestUsage(request: ModelRequest) {
  const side = sideEvents<UsedEvent>();
  let asked: Model | undefined;
  let usage: RequestUsage = { contextTokens: 0, thoughtTokens: 0 };
  let thoughtCharacters = 0;
  const tell = (more: Partial<RequestUsage>) => {
    usage = { ...usage, ...more };
    side.push({ type: 'used', usage });
  };

  async function count(model: Model): Promise<void> {
    const contextTokens = await countRequestTokens(model, request);
    if (asked === model && contextTokens !== usage.contextTokens) tell({ contextTokens });
  }

  return {
    among: side.among,
    /** Its tokens as estimated; where they can be counted, the count follows, for which the model does not wait. */
    begin(model: Model): number {
      asked = model;
      thoughtCharacters = 0;
      usage = { contextTokens: estimateRequestTokens(request), thoughtTokens: 0 };
      if (hasTokenizer(model.modelId)) void count(model);
      return usage.contextTokens;
    },
    /** The model that was asked has been left: what it took is earlier usage. */
    end(): void {
      asked = undefined;
      tell({ contextTokens: 0, thoughtTokens: 0 });
    },
    /** The rest of its thoughts, once it answers. */
    answers(): void {
      const thoughtTokens = Math.ceil(thoughtCharacters / 4);
      if (thoughtTokens > usage.thoughtTokens) tell({ thoughtTokens });
    },
    onThought(piece: string): void {
      thoughtCharacters += codePoints(piece);
      const thoughtTokens = Math.ceil(thoughtCharacters / 4);
      if (thoughtTokens >= usage.thoughtTokens + thoughtStep) tell({ thoughtTokens });
    },
  };
}
