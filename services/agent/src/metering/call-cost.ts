import type { Spent } from '@parley/metering/ledger';
import { type BilledTokens, costUsdE8, type ModelPrice } from '@parley/metering/model-price';
import type { Prices } from '@parley/metering/prices';
import { usualTokenBound } from '@parley/text/token-bound';
import type { Model, ModelRequest } from '../models/model.ts';
import type { ProviderChain } from '../models/provider-chain.ts';
import { textsOf } from '../models/request-texts.ts';

/** Calculates the cost of calls by the price table. A model without a price costs nothing; only the operator can configure such a model. */
export type CallCosts = ReturnType<typeof callCosts>;

export function callCosts(prices: Prices) {
  const priceOf = ({ modelId }: Pick<Model, 'modelId'>): ModelPrice | undefined => prices.find(modelId);

  function costOf(model: Model, { tokensIn, tokensCached, tokensOut }: BilledTokens): Spent {
    const tokens = { tokensIn, tokensCached, tokensOut };
    const { providerId, modelId } = model;
    const price = priceOf(model);
    return { providerId, modelId, ...tokens, costUsdE8: price ? costUsdE8(tokens, price) : 0n };
  }

  return {
    priceOf,
    costOf,

    /** Returns the maximum cost of a call to any model of the chain. */
    upperEstimate({ candidates }: ProviderChain, request: ModelRequest): Spent {
      const priced = candidates.filter(({ model }) => priceOf(model));
      const tokensIn = priced.length === 0 ? 0 : boundOf(request);
      const estimates = candidates.map(({ model }) => {
        const maxOutputTokens = Math.min(request.maxOutputTokens ?? model.maxOutputTokens, model.maxOutputTokens);
        return costOf(model, {
          tokensIn,
          tokensCached: 0,
          tokensOut: Number.isFinite(maxOutputTokens) ? maxOutputTokens : 0,
        });
      });
      return estimates.reduce((dearest, each) => (each.costUsdE8 > dearest.costUsdE8 ? each : dearest));
    },
  };
}

/** Approximate maximum number of tokens that the usual providers count for one image. */
const imageTokens = 2_000;

function boundOf(request: ModelRequest): number {
  const { images = [] } = request;
  return textsOf(request).reduce((sum, text) => sum + usualTokenBound(text), images.length * imageTokens);
}
