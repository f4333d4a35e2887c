import test from 'ava';
import { costUsdE8, type ModelPrice, mayBeNamed } from './model-price.ts';
import { usdE18 } from './parse-prices.ts';

const price = (input: number, output: number, cached = input): ModelPrice => ({
  inputUsdE18: usdE18(input),
  cachedInputUsdE18: usdE18(cached),
  outputUsdE18: usdE18(output),
  costsMore: false,
  contextTokens: undefined,
  maxOutputTokens: undefined,
  vision: false,
  embeds: false,
});
const tokens = (tokensIn: number, tokensOut: number, tokensCached = 0) => ({ tokensIn, tokensOut, tokensCached });

test('a call costs its input, cached input and output tokens, each at its own price', (t) => {
  const gpt4o = price(2.5e-6, 1e-5, 1.25e-6);

  t.is(costUsdE8(tokens(1_000, 500), gpt4o), 750_000n, '0.0025 + 0.005 USD');
  t.is(costUsdE8(tokens(1_000, 500, 600), gpt4o), 675_000n, '400 tokens at the full price, 600 at half of it');
  t.is(costUsdE8(tokens(0, 0), gpt4o), 0n);
});

test('a part of 1e-8 USD counts as a whole', (t) => {
  const cheap = price(5e-9, 0);

  t.is(costUsdE8(tokens(1, 0), cheap), 1n);
  t.is(costUsdE8(tokens(2, 0), cheap), 1n);
  t.is(costUsdE8(tokens(3, 0), cheap), 2n);
  t.is(costUsdE8(tokens(1, 0), price(1e-30, 0)), 1n, 'however little it is');
  t.is(costUsdE8(tokens(1, 0), price(0, 0)), 0n, 'unless it is nothing');
});

test('sums are exact where floating-point numbers are not', (t) => {
  const nova = price(5.468_75e-7, 1.75e-5);

  t.is(costUsdE8(tokens(1_000_000_000, 3), nova), 54_687_505_250n);
  t.is(costUsdE8(tokens(2_147_483_647, 2_147_483_647), price(1e-7, 2e-7)), 64_424_509_410n);
});

test('more cached tokens than input tokens are no discount', (t) => {
  t.is(costUsdE8(tokens(10, 0, 50), price(1e-6, 0, 1e-7)), 100n);
});

test('a value that is not a token count is an error', (t) => {
  for (const bad of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
    t.throws(() => costUsdE8(tokens(bad, 1), price(1e-6, 1e-6)), { instanceOf: RangeError });
    t.throws(() => costUsdE8(tokens(1, 1, bad), price(1e-6, 1e-6)), { instanceOf: RangeError });
    t.throws(() => costUsdE8(tokens(1, bad), price(1e-6, 1e-6)), { instanceOf: RangeError });
  }
});

test('a price is the exact value of its decimal text', (t) => {
  const cases: [usd: number, e18: bigint][] = [
    [0, 0n],
    [1, 1_000_000_000_000_000_000n],
    [12.5, 12_500_000_000_000_000_000n],
    [0.000_168, 168_000_000_000_000n],
    [2.75e-7, 275_000_000_000n],
    [5.468_75e-7, 546_875_000_000n],
    [1e21, 1_000_000_000_000_000_000_000_000_000_000_000_000_000n],
    [1.5e-18, 2n],
  ];
  for (const [usd, e18] of cases) t.is(usdE18(usd), e18, String(usd));
});

test('tenants may name a model whose input or output costs something, and nothing else', (t) => {
  t.true(mayBeNamed(price(1e-6, 0)));
  t.true(mayBeNamed(price(0, 1e-30)));
  t.false(mayBeNamed(price(0, 0)));
  t.false(mayBeNamed({ ...price(1e-6, 1e-6), costsMore: true }));
  t.false(mayBeNamed({ ...price(1e-6, 1e-6), embeds: true }));
  t.false(mayBeNamed(undefined));
});
