/** What a model costs, in 1e-18 USD per token, so that figures such as 5.46875e-7 USD are exact. */
export interface ModelPrice {
  inputUsdE18: bigint;
  /** Of input tokens that the provider read from its cache. */
  cachedInputUsdE18: bigint;
  outputUsdE18: bigint;
  /** A call costs more than its tokens, e.g. for the searches that it makes. */
  costsMore: boolean;
  /** The most tokens of a request for which these figures hold; undefined where the file says nothing. */
  contextTokens: number | undefined;
  maxOutputTokens: number | undefined;
  vision: boolean;
  /** It gives embeddings and no text. */
  embeds: boolean;
}

/** What is wrong with a name of such a model, where one for text is wanted. */
export const namesEmbeddings = 'names a model of embeddings, which writes no text';

/**
 * Whether a tenant may name a model of this price for text: only the operator chooses one that costs nothing, or more than is counted, or
 * is none for text.
 */
export function mayBeNamed(price: ModelPrice | undefined): boolean {
  return (
    price !== undefined && !price.embeds && !price.costsMore && (price.inputUsdE18 > 0n || price.outputUsdE18 > 0n)
  );
}

export interface BilledTokens {
  /** All input tokens, cached ones included. */
  tokensIn: number;
  tokensCached: number;
  tokensOut: number;
}

const e18PerE8 = 10_000_000_000n;

/**
 * What a call costs, in 1e-8 USD, rounded up.
 * @throws RangeError for counts that are negative or no whole numbers.
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
