/** The prices of a model, in 1e-18 USD per token, so that prices such as 5.46875e-7 USD are exact. */
export interface ModelPrice {
  inputUsdE18: bigint;
  /** The price of input tokens that the provider read from its cache. */
  cachedInputUsdE18: bigint;
  outputUsdE18: bigint;
  /** Whether a call has costs beyond its tokens, e.g. for the searches that it makes. */
  costsMore: boolean;
  /** Maximum tokens of a request for which these prices apply; undefined if the price file has no limit. */
  contextTokens: number | undefined;
  maxOutputTokens: number | undefined;
  vision: boolean;
  /** Whether the model returns embeddings rather than text. */
  embeds: boolean;
}

/** The error message for an embedding model that is named where a text model is expected. */
export const namesEmbeddings = 'names a model of embeddings, which writes no text';

/**
 * Reports whether a tenant may choose a model of this price to write text. Only the operator may choose models that are free, have
 * uncounted costs, or return no text.
 */
export function mayBeNamed(price: ModelPrice | undefined): boolean {
  return (
    price !== undefined && !price.embeds && !price.costsMore && (price.inputUsdE18 > 0n || price.outputUsdE18 > 0n)
  );
}

export interface BilledTokens {
  /** All input tokens, including cached ones. */
  tokensIn: number;
  tokensCached: number;
  tokensOut: number;
}

const e18PerE8 = 10_000_000_000n;

/**
 * Returns the cost of a call in 1e-8 USD, rounded up.
 * @throws RangeError for counts that are negative or not whole numbers.
 */
export function costUsdE8({ tokensIn, tokensCached, tokensOut }: BilledTokens, price: ModelPrice): bigint {
  const counts = [tokensIn, tokensCached, tokensOut];
  if (!counts.every((count) => Number.isSafeInteger(count) && count >= 0)) {
    throw new RangeError(`Not counts of tokens: ${counts.join(', ')}`);
  }
  const cached = Math.min(tokensCached, tokensIn);
  const costE18 =
    BigInt(tokensIn - cached) * price.inputUsdE18 +
    BigInt(cached) * price.cachedInputUsdE18 +
    BigInt(tokensOut) * price.outputUsdE18;
  return (costE18 + e18PerE8 - 1n) / e18PerE8;
}
